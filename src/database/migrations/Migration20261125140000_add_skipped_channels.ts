import { Migration } from '@mikro-orm/migrations';

/** The channels over which the gateway does not deliver a notification, and why. */
export class Migration20261125140000_add_skipped_channels extends Migration {
  override name = 'Migration20261125140000_add_skipped_channels';

  override up(): void | Promise<void> {
    this.addSql(`alter table "notification" add column "skipped_channels" smallint null;`);
  }
}
