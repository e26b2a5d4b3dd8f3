import { IndexMigration } from '../index-migration.ts';

/** Finds the credentials of all users that expire soon. */
export class Migration20261125131100_index_credential_expiry extends IndexMigration {
  override name = 'Migration20261125131100_index_credential_expiry';

  override create = [
    {
      name: 'editor_credential_expiring',
      on: `"editor_credential" ("expires_at", "user_id") where expires_at is not null`,
    },
  ];
}
