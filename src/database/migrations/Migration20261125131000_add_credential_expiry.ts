import { Migration } from '@mikro-orm/migrations';

/** When the access token of a credential expires. */
export class Migration20261125131000_add_credential_expiry extends Migration {
  override name = 'Migration20261125131000_add_credential_expiry';

  override up(): void | Promise<void> {
    this.addSql(`alter table "editor_credential" add "expires_at" timestamptz(3) null;`);
  }
}
