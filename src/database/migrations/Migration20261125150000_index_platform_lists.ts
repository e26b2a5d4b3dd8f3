import { IndexMigration } from '../index-migration.ts';

/** Lets lists of all users' records find a page without reading other records. */
export class Migration20261125150000_index_platform_lists extends IndexMigration {
  override name = 'Migration20261125150000_index_platform_lists';

  override create = [
    { name: 'notification_of_kind', on: '"notification" ("kind", "created_at", "user_id", "id")' },
    {
      name: 'notification_of_project',
      on: `"notification" ("project_id", "created_at", "user_id", "id") where status = 'active' and project_id is not null`,
    },
    { name: 'workspace_of_status', on: '"workspace" ("status", "created_at", "user_id", "id")' },
    {
      name: 'editor_credential_newest',
      on: '"editor_credential" ("created_at", "user_id") where ciphertext is not null',
    },
    {
      name: 'editor_credential_failed',
      on: '"editor_credential" ("created_at", "user_id") where reauth_reason is not null',
    },
  ];
}
