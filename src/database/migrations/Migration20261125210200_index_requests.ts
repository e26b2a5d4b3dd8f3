import { IndexMigration } from '../index-migration.ts';

/** Lets a task have several active notifications of a kind, in slots, and finds unsettled and due requests. */
export class Migration20261125210200_index_requests extends IndexMigration {
  override name = 'Migration20261125210200_index_requests';

  override create = [
    {
      name: 'notification_one_active_in_slot',
      on: `"notification" ("user_id", "task_id", "kind", "slot") where status = 'active'`,
      unique: true,
    },
    {
      name: 'notification_of_slot',
      on: '"notification" ("user_id", "task_id", "kind", "slot", "occurred_at")',
    },
    {
      name: 'notification_unsettled',
      on: `"notification" ("user_id", "task_id", "kind") where status = 'active' or request_state = 'open'`,
    },
    {
      name: 'notification_expiry',
      on: `"notification" ("expires_at") where request_state = 'open' and expires_at is not null`,
    },
    {
      name: 'notification_to_withdraw',
      on: `"notification" ("user_id", "id") where request_state = 'open' and resolved_at is not null`,
    },
    {
      name: 'notification_to_convert',
      on: `"notification" ("user_id", "id") where request_state is null and resolved_at is null and kind <> 'task_failed'`,
    },
  ];
  override drop = ['notification_one_active', 'notification_of_task'];
}
