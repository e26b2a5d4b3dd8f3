import { Migration } from '@mikro-orm/migrations';

/** Requests: what a notification asks its user for, until when, and the answer. */
export class Migration20261125210000_add_requests extends Migration {
  override name = 'Migration20261125210000_add_requests';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "notification" add "slot" text not null default '', add "request_state" text null, add "expires_at" timestamptz(3) null, add "expires_in_seconds" int null, add "on_expiry" json null, add "answer" json null, add "receipt" json null;`,
    );
    this.addSql(
      `alter table "notification" add constraint "notification_request_state_check" check ("request_state" in ('none', 'open', 'answered', 'expired', 'withdrawn')) not valid;`,
    );
  }
}
