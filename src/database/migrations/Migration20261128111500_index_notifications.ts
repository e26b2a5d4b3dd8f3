import { IndexMigration } from '../index-migration.ts';

/** Finds requests by their state, and the notifications of all users by time only. */
export class Migration20261128111500_index_notifications extends IndexMigration {
  override name = 'Migration20261128111500_index_notifications';

  override create = [
    {
      name: 'notification_of_task',
      on: '"notification" ("user_id", "request_state", "task_id", "by_task", "kind", "slot", "occurred_at")',
    },
    {
      name: 'notification_of_all',
      on: `"notification" ("created_at", "user_id", "id") where created_at > '-infinity'`,
    },
    {
      name: 'notification_open',
      on: `"notification" ("created_at", "user_id", "id") where request_state = 'open' and created_at > '-infinity'`,
    },
  ];
  override drop = [
    'notification_of_slot',
    'notification_unsettled',
    'notification_of_kind',
    'notification_of_project',
  ];
}
