import { Migration } from '@mikro-orm/migrations';

/** Contacts, push subscriptions, and the outbox of deliveries. */
export class Migration20261122175038_add_deliveries extends Migration {
  override name = 'Migration20261122175038_add_deliveries';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "contact" ("user_id" varchar(255) collate "C" not null, "email" text null, "email_suspended_at" timestamptz(3) null, "chat_member_id" text null, "chat_suspended_at" timestamptz(3) null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("user_id"));`,
    );

    this.addSql(
      `create table "delivery" ("user_id" varchar(255) collate "C" not null, "notification_id" varchar(255) collate "C" not null, "channel" text not null, "target" varchar(255) collate "C" not null, "provider" text not null, "state" text not null, "step" text not null default 'message', "is_open" boolean not null default true, "due_at" timestamptz(3) not null, "expires_at" timestamptz(3) not null, "claims" int not null default 0, "attempts" int not null default 0, "reason" text null, "provider_code" text null, "receipt" text null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, "delivered_at" timestamptz(3) null, primary key ("user_id", "notification_id", "channel", "target"));`,
    );
    this.addSql(
      `create index "delivery_due" on "delivery" ("channel", "provider", "due_at") where state in ('pending', 'sending');`,
    );
    this.addSql(`create index "delivery_open" on "delivery" ("user_id") where is_open;`);
    this.addSql(
      `create index "delivery_failed" on "delivery" ("channel", "updated_at") where state = 'failed';`,
    );

    this.addSql(
      `create table "push_subscription" ("user_id" varchar(255) collate "C" not null, "id" varchar(255) collate "C" not null, "host" text not null, "ciphertext" text not null, "key_id" text not null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("user_id", "id"));`,
    );
    this.addSql(`create index "push_subscription_key" on "push_subscription" ("key_id");`);
    this.addSql(`alter table "push_subscription" add constraint "push_subscription_endpoint" unique ("id");`);

    this.addSql(
      `alter table "delivery" add constraint "delivery_channel_check" check ("channel" in ('email', 'push', 'chat'));`,
    );
    this.addSql(
      `alter table "delivery" add constraint "delivery_state_check" check ("state" in ('pending', 'sending', 'delivered', 'failed', 'cancelled'));`,
    );
    this.addSql(
      `alter table "delivery" add constraint "delivery_step_check" check ("step" in ('message', 'update'));`,
    );
    this.addSql(
      `alter table "delivery" add constraint "delivery_reason_check" check ("reason" in ('settled', 'channel_disabled', 'target_removed', 'recipient_rejected', 'message_rejected', 'rate_limited', 'provider_unavailable', 'provider_refused', 'reply_lost', 'lease_expired', 'target_unreadable', 'expired'));`,
    );
  }
}
