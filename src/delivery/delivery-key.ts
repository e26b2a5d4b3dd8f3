import { type RawBuilder, sql } from 'kysely';

/** The columns that identify a delivery. */
export const deliveryKey = [
  'Delivery.userId',
  'Delivery.notificationId',
  'Delivery.channel',
  'Delivery.target',
] as const;

/**
 * Returns the condition that a delivery's notification is in a common table expression with `user_id` and
 * `notification_id`. The arrays make PostgreSQL look the deliveries up by index. With the join alone, it would read the
 * whole table if the statement was prepared while the table was empty.
 */
export function matchesNotificationIn(name: string): RawBuilder<boolean> {
  const rows = sql.table(name);
  return sql`delivery.user_id = any(array(select user_id from ${rows}))
    and delivery.notification_id = any(array(select notification_id from ${rows}))
    and delivery.user_id = ${rows}.user_id and delivery.notification_id = ${rows}.notification_id`;
}

/**
 * Returns the condition that a delivery's whole key is in a common table expression, like {@link
 * matchesNotificationIn}.
 */
export function matchesKeyIn(name: string): RawBuilder<boolean> {
  const rows = sql.table(name);
  return sql`${matchesNotificationIn(name)} and delivery.channel = ${rows}.channel and delivery.target = ${rows}.target`;
}
