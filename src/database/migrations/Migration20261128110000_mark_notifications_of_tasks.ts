import { Migration } from '@mikro-orm/migrations';

/** Marks the notifications that task tokens published. What was published before counts for no limit. */
export class Migration20261128110000_mark_notifications_of_tasks extends Migration {
  override name = 'Migration20261128110000_mark_notifications_of_tasks';

  override up(): void | Promise<void> {
    this.addSql(`alter table "notification" add column "by_task" boolean not null default false;`);
  }
}
