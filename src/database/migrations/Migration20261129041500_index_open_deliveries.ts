import { IndexMigration } from '../index-migration.ts';

/** Finds open deliveries in the order of their keys. */
export class Migration20261129041500_index_open_deliveries extends IndexMigration {
  override name = 'Migration20261129041500_index_open_deliveries';

  override create = [
    {
      name: 'delivery_open_by_key',
      on: '"delivery" ("user_id", "notification_id", "channel", "target") where is_open',
    },
  ];
  override drop = ['delivery_open'];
}
