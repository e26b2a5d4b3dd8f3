import { Migration } from '@mikro-orm/migrations';

/** Replaces two indexes by wider ones, which are in the list's order for each combination of filter values. */
export class Migration20261122104000_index_filters extends Migration {
  override name = 'Migration20261122104000_index_filters';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "notification_newest_by_kind_and_status" on "notification" ("user_id", "kind", "status", "created_at", "id");`,
    );
    this.addSql(`drop index "notification_newest_by_status";`);
    this.addSql(
      `create index "workspace_newest_by_project_and_status" on "workspace" ("user_id", "project_id", "status", "created_at", "id");`,
    );
    this.addSql(`drop index "workspace_newest_by_project";`);
  }
}
