import { Migration } from '@mikro-orm/migrations';

/** Indexes in the list's order for the notifications of a project and of a task. */
export class Migration20261122154500_index_projects_and_tasks extends Migration {
  override name = 'Migration20261122154500_index_projects_and_tasks';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "notification_newest_by_project" on "notification" ("user_id", "project_id", "kind", "status", "created_at", "id");`,
    );
    this.addSql(
      `create index "notification_newest_by_task" on "notification" ("user_id", "task_id", "kind", "status", "created_at", "id", "project_id");`,
    );
  }
}
