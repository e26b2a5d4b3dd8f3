import { IndexMigration } from '../index-migration.ts';

/** Finds all open requests, so that they can be counted, instead of only those that expire. */
export class Migration20261128111500_index_open_requests extends IndexMigration {
  override name = 'Migration20261128111500_index_open_requests';

  override create = [
    { name: 'notification_open', on: `"notification" ("expires_at") where request_state = 'open'` },
  ];
  override drop = ['notification_expiry'];
}
