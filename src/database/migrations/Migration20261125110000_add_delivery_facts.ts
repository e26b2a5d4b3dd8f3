import { Migration } from '@mikro-orm/migrations';

/** Since when a delivery has been due, and whether an attempt whose result is unknown may have delivered its message. */
export class Migration20261125110000_add_delivery_facts extends Migration {
  override name = 'Migration20261125110000_add_delivery_facts';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "delivery" add "first_due_at" timestamptz(3) null, add "may_be_delivered" boolean not null default false;`,
    );
  }
}
