import { Migration } from '@mikro-orm/migrations';

/** Marks and finds the notifications that task tokens published. What was published before counts for no limit. */
export class Migration20261128110000_mark_notifications_of_tasks extends Migration {
  override name = 'Migration20261128110000_mark_notifications_of_tasks';

  override up(): void | Promise<void> {
    this.addSql(`alter table "notification" add column "by_task" boolean not null default false;`);
    this.addSql(
      `create index "notification_of_task_token" on "notification" ("user_id", "task_id") where by_task;`,
    );
  }
}
