import { Migration } from '@mikro-orm/migrations';

/** Gateways announce changes after the commit. The triggers announced them within the transaction. */
export class Migration20261122114000_drop_announcing_triggers extends Migration {
  override name = 'Migration20261122114000_drop_announcing_triggers';

  override up(): void | Promise<void> {
    this.addSql(`drop trigger "user_revision_announce" on "user_revision";`);
    this.addSql(`drop function "user_revision_user_revision_announce_fn"();`);
    this.addSql(`drop trigger "editor_credential_announce" on "editor_credential";`);
    this.addSql(`drop function "editor_credential_editor_credential_announce_fn"();`);
  }
}
