import { Migration } from '@mikro-orm/migrations';

/** Drops the size of payloads, which have a maximum now. */
export class Migration20261128113000_drop_payload_size extends Migration {
  override name = 'Migration20261128113000_drop_payload_size';

  override up(): void {
    this.addSql('alter table notification drop column payload_size');
  }
}
