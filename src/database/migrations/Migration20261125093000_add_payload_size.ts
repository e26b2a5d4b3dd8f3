import { Migration } from '@mikro-orm/migrations';

/** Adds the size of a notification's payload, so that lists know it without reading the payload. */
export class Migration20261125093000_add_payload_size extends Migration {
  override name = 'Migration20261125093000_add_payload_size';

  override up(): void | Promise<void> {
    this.addSql(`alter table "notification" add column "payload_size" int null;`);
  }
}
