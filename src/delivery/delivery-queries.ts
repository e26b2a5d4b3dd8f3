import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { isChannelEnabled } from '../notifications/preferences/channels.ts';
import type { CancelReason } from './delivery.enums.ts';

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

/** Selects from deliveries, with everything that decides whether they are still wanted. */
export function selectWithTargets(db: Pick<Kysely<Tables>, 'selectFrom'>) {
  return db
    .selectFrom('Delivery')
    .leftJoin('Notification', (join) =>
      join
        .onRef('Notification.userId', '=', 'Delivery.userId')
        .onRef('Notification.id', '=', 'Delivery.notificationId'),
    )
    .leftJoin('NotificationPreference', (join) =>
      join
        .onRef('NotificationPreference.userId', '=', 'Delivery.userId')
        .onRef('NotificationPreference.notificationKind', '=', 'Notification.kind'),
    )
    .leftJoin('Contact', 'Contact.userId', 'Delivery.userId')
    .leftJoin('PushSubscription', (join) =>
      join
        .onRef('PushSubscription.userId', '=', 'Delivery.userId')
        .onRef('PushSubscription.id', '=', 'Delivery.target'),
    );
}

/** Why a delivery of {@link selectWithTargets} is no longer wanted; null if it still is. */
export const unwantedReason: RawBuilder<CancelReason | null> = sql`case
  when notification.status is distinct from 'active' then 'settled'
  when not case delivery.channel
    when 'email' then ${isChannelEnabled('email')}
    when 'push' then ${isChannelEnabled('push')}
    else ${isChannelEnabled('chat')} end then 'channel_disabled'
  when case delivery.channel
    when 'email' then contact.email is null or contact.email_suspended_at is not null
    when 'push' then push_subscription.id is null
    else contact.chat_member_id is null or contact.chat_suspended_at is not null end then 'target_removed'
  end`;
