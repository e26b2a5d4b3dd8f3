import { Migration } from '@mikro-orm/migrations';

export class Migration20261122104948_order_in_time extends Migration {
  override name = 'Migration20261122104948_order_in_time';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "task_resolution" ("user_id" varchar(255) collate "C" not null, "task_id" varchar(255) collate "C" not null, "kind" text not null, "resolved_before" timestamptz(3) not null, "resolved_by" text not null, primary key ("user_id", "task_id", "kind"));`,
    );
    this.addSql(`create index "task_resolution_age" on "task_resolution" ("resolved_before");`);

    this.addSql(
      `create index "notification_of_task" on "notification" ("user_id", "task_id", "kind", "occurred_at");`,
    );

    this.addSql(`alter table "user_revision" add "editor_auth" bigint not null default '0';`);

    this.addSql(
      `alter table "task_resolution" add constraint "task_resolution_kind_check" check ("kind" in ('plan_requested', 'question_requested', 'task_failed', 'task_response_ready'));`,
    );
    this.addSql(
      `alter table "task_resolution" add constraint "task_resolution_resolved_by_check" check ("resolved_by" in ('answered', 'resumed', 'task_deleted', 'superseded'));`,
    );
  }
}
