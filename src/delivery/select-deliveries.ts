import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { isTarget } from '../notifications/channel-decision.ts';
import { isChannelEnabled } from '../notifications/preferences/channels.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { CancelReason } from './delivery.enums.ts';

/** The properties that identify a delivery. */
export const keyProperties = ['userId', 'notificationId', 'channel', 'target'] as const;

/** The columns that identify a delivery. */
export const deliveryKey = keyProperties.map((name) => `Delivery.${name}` as const);

/** The channels that can find a message again whose delivery is unknown ({@link Channel.find}). */
export const searchableChannels: readonly DeliveryChannel[] = ['chat'];

/** The condition of the indexes of due deliveries. */
export const isUnfinished: RawBuilder<boolean> = sql`state in ('pending', 'sending')`;

/**
 * Returns the condition that a delivery's notification is in a common table expression with `userId` and
 * `notificationId`. The arrays make PostgreSQL look the deliveries up by index. With the join alone, it would read the
 * whole table if the statement was prepared while the table was empty.
 */
export function matchesNotificationIn(name: string): RawBuilder<boolean> {
  const conditions = (['userId', 'notificationId'] as const).map((property) => {
    const [column, other] = [sql.ref(`Delivery.${property}`), sql.ref(`${name}.${property}`)];
    return sql`${column} = any(array(select ${other} from ${sql.table(name)})) and ${column} = ${other}`;
  });
  return sql`${sql.join(conditions, sql` and `)}`;
}

/**
 * Returns the condition that a delivery's whole key is in a common table expression, like {@link
 * matchesNotificationIn}.
 */
export function matchesKeyIn(name: string): RawBuilder<boolean> {
  const rows = sql.table(name);
  return sql`${matchesNotificationIn(name)} and ${sql.ref('Delivery.channel')} = ${rows}.channel
    and ${sql.ref('Delivery.target')} = ${rows}.target`;
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
  when ${sql.ref('Notification.status')} is distinct from 'active' then 'settled'
  when not ${forChannel(isChannelEnabled)} then 'channel_disabled'
  when not ${forChannel((channel) => isTarget[channel])} then 'target_removed'
  end`;

/** Returns the condition that applies to the channel of a delivery. */
function forChannel(condition: (channel: DeliveryChannel) => RawBuilder<boolean>): RawBuilder<boolean> {
  return sql`case ${sql.ref('Delivery.channel')} when 'email' then ${condition('email')}
    when 'push' then ${condition('push')} else ${condition('chat')} end`;
}
