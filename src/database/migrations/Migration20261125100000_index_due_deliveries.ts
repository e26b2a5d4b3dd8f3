import { IndexMigration } from '../index-migration.ts';

/** Lets a claim find due deliveries by time and by user, and count those of a user that are being sent. */
export class Migration20261125100000_index_due_deliveries extends IndexMigration {
  override name = 'Migration20261125100000_index_due_deliveries';

  override create = [
    {
      name: 'delivery_due_by_time',
      on: `"delivery" ("channel", "due_at") where state in ('pending', 'sending')`,
    },
    {
      name: 'delivery_due_by_user',
      on: `"delivery" ("channel", "provider", "user_id", "due_at") where state in ('pending', 'sending')`,
    },
    { name: 'delivery_sending', on: `"delivery" ("user_id", "channel") where state = 'sending'` },
  ];
  override drop = ['delivery_due'];
}
