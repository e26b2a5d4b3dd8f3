import { Migration } from '@mikro-orm/migrations';

/** The counts of each user and of all users, which gateways compute in the background. */
export class Migration20261125120000_add_statistics extends Migration {
  override name = 'Migration20261125120000_add_statistics';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "statistics" ("is_only" boolean not null default true, "counts" jsonb not null default '{}', "as_of" timestamptz(3) null, "sweep_started_at" timestamptz(3) null, "swept_to" varchar(255) collate "C" not null default '', "due_at" timestamptz(3) not null default now(), primary key ("is_only"));`,
    );
    this.addSql(`alter table "statistics" add constraint "statistics_one_row" check ("is_only");`);
    this.addSql(`insert into "statistics" ("is_only") values (true);`);
    this.addSql(
      `create table "user_statistics" ("user_id" varchar(255) collate "C" not null, "epoch" uuid not null, "notifications" bigint not null, "workspaces" bigint not null, "editor_auth" bigint not null, "counts" jsonb not null, "is_settled" boolean not null, "counted_at" timestamptz(3) not null, primary key ("user_id"));`,
    );
  }
}
