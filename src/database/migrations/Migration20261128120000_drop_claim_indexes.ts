import { Migration } from '@mikro-orm/migrations';

/** Due deliveries are found by time only. */
export class Migration20261128120000_drop_claim_indexes extends Migration {
  override name = 'Migration20261128120000_drop_claim_indexes';

  override up(): void | Promise<void> {
    this.addSql(`drop index "delivery_due_by_user", "delivery_sending";`);
  }
}
