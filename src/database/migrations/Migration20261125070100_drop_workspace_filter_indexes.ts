import { IndexMigration } from '../index-migration.ts';

/** Drops the indexes of filters: the index of a user's workspaces serves them. */
export class Migration20261125070100_drop_workspace_filter_indexes extends IndexMigration {
  override name = 'Migration20261125070100_drop_workspace_filter_indexes';

  override drop = ['workspace_newest_by_status', 'workspace_newest_by_project_and_status'];
}
