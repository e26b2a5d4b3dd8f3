import { Migration } from '@mikro-orm/migrations';

export class Migration20261122145638_claim_credential_refresh extends Migration {
  override name = 'Migration20261122145638_claim_credential_refresh';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "editor_credential" add "refreshed_from" varchar(255) collate "C" null, add "claim_id" varchar(255) collate "C" null, add "claimed_until" timestamptz(3) null;`,
    );
    this.addSql(
      `alter table "editor_credential" add constraint "editor_credential_claim" check (("claim_id" is null) = ("claimed_until" is null));`,
    );
  }
}
