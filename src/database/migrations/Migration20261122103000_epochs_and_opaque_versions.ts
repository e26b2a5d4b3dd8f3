import { Migration } from '@mikro-orm/migrations';

/** Gateways of the previous version cannot run on this schema. Stop them before migrating. */
export class Migration20261122103000_epochs_and_opaque_versions extends Migration {
  override name = 'Migration20261122103000_epochs_and_opaque_versions';

  override up(): void | Promise<void> {
    // Each ciphertext is bound to its version, so existing versions keep their number, as text.
    this.addSql(
      `alter table "editor_credential" alter column "version" type varchar(255) collate "C" using ("version"::text);`,
    );
    this.addSql(
      `alter table "user_revision" drop column "started_at", add column "epoch" uuid not null default gen_random_uuid();`,
    );
    this.addSql(
      `create table "database_epoch" ("is_only" boolean not null default true, "epoch" uuid not null, primary key ("is_only"));`,
    );
    this.addSql(`alter table "database_epoch" add constraint "database_epoch_one_row" check ("is_only");`);
    this.addSql(`insert into "database_epoch" ("epoch") values (gen_random_uuid());`);
  }
}
