import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database, Tables } from '../database/database.ts';
import { defineVariants, type Params, runStatement } from '../database/statement.ts';
import { listTargets } from '../notifications/channel-decision.ts';
import type { Notification } from '../notifications/notification.entity.ts';
import {
  type Channels,
  defaultChannels,
  isChannelEnabled,
  toChannels,
} from '../notifications/preferences/channels.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { CancelReason } from './delivery.enums.ts';

/** The properties that identify a delivery. */
export const keyProperties = ['userId', 'notificationId', 'channel', 'target'] as const;

/** The columns that identify a delivery. */
export const deliveryKey = keyProperties.map((name) => `Delivery.${name}` as const);

/** The keys of deliveries, as arrays of the same length. */
export type DeliveryKeys = Readonly<Record<(typeof keyProperties)[number], readonly string[]>>;

/** Returns the keys of deliveries. */
export function toKeys(deliveries: readonly Record<(typeof keyProperties)[number], string>[]): DeliveryKeys {
  const list = (name: (typeof keyProperties)[number]) => deliveries.map((delivery) => delivery[name]);
  return {
    userId: list('userId'),
    notificationId: list('notificationId'),
    channel: list('channel'),
    target: list('target'),
  };
}

/** The condition that a delivery has one of several keys, given as an array of each of their columns. */
export function hasKey(columnOf: (name: keyof DeliveryKeys) => RawBuilder<unknown>): RawBuilder<boolean> {
  const names = sql.join(deliveryKey.map((name) => sql.ref(name)));
  return sql`(${names}) in (select * from unnest(${sql.join(keyProperties.map(columnOf))}))`;
}

/** The condition that a delivery has the key of a row of another table. */
export function hasKeyOf(table: string): RawBuilder<boolean> {
  const pairs = keyProperties.map((name) => [`Delivery.${name}`, `${table}.${name}`] as const);
  return sql`${sql.join(
    pairs.map(([own, other]) => sql`${sql.ref(own)} = ${sql.ref(other)}`),
    sql` and `,
  )}`;
}

/** The channels that can find a message again whose delivery is unknown ({@link Channel.find}). */
export const searchableChannels: readonly DeliveryChannel[] = ['chat'];

/** The condition of the indexes of due deliveries. */
export const isUnfinished: RawBuilder<boolean> = sql`state in ('pending', 'sending')`;

/** Whether the time of a delivery is over. */
export const isExpired = sql<boolean>`${sql.ref('Delivery.expiresAt')} <= now()`.as('isExpired');

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
    )
    .select([
      'Notification.status',
      'Notification.requestState',
      'Notification.resolvedAt',
      'NotificationPreference.emailEnabled',
      'NotificationPreference.pushEnabled',
      'NotificationPreference.chatDmEnabled',
      'Contact.email',
      'Contact.emailSuspendedAt',
      'Contact.chatMemberId',
      'Contact.chatSuspendedAt',
      'PushSubscription.id as subscriptionId',
      'PushSubscription.host',
    ]);
}

/** The maximum number of open deliveries that one statement reads. */
export const MAX_CHECKED = 1000;

/** The key of a delivery. */
export type DeliveryKey = Readonly<Record<(typeof keyProperties)[number], string>>;

/** Whether a dismissal is older than a day, within which its undo is shown in a message about no request. */
const wasDismissedLongAgo =
  sql<boolean>`coalesce(${sql.ref('Notification.dismissedAt')} <= now() - interval '1 day', false)`.as(
    'wasDismissedLongAgo',
  );

/** Which open deliveries are found: that of a key, or those after a key, of users or of all. */
type Found = DeliveryKey & { users?: readonly string[] };

/** Selects open deliveries in the order of their keys, with everything that decides what becomes of them. */
const selectOpen = defineVariants((db, { param }: Params<Found>, parts: readonly ('ofKey' | 'ofUsers')[]) => {
  const key = sql`(${sql.join(deliveryKey.map((name) => sql.ref(name)))})`;
  const given = sql`(${sql.join(keyProperties.map((name) => param(name)))})`;
  return selectWithTargets(db)
    .select(deliveryKey)
    .select(['Delivery.state', 'Delivery.step', 'Delivery.claims', 'Delivery.mayBeDelivered', isExpired])
    .select(wasDismissedLongAgo)
    .where('Delivery.isOpen', '=', sql.lit(true))
    .where(sql<boolean>`${key} ${sql.raw(parts.includes('ofKey') ? '=' : '>')} ${given}`)
    .$if(parts.includes('ofUsers'), (open) =>
      open.where((eb) => eb('Delivery.userId', '=', eb.fn.any(param('users', 'text[]')))),
    )
    .orderBy('Delivery.userId')
    .orderBy('Delivery.notificationId')
    .orderBy('Delivery.channel')
    .orderBy('Delivery.target')
    .limit(sql.lit(MAX_CHECKED));
});

const [selectByKey, selectAfter, selectOfUsers] = [
  selectOpen(['ofKey']),
  selectOpen([]),
  selectOpen(['ofUsers']),
];

/**
 * Finds the open deliveries after a key, in the order of their keys, as many as one step checks: those of users, or all.
 */
export const findOpen = (database: Database, after: DeliveryKey, users?: readonly string[]) =>
  users === undefined
    ? runStatement(database, selectAfter, after)
    : runStatement(database, selectOfUsers, { ...after, users });

/** Finds a delivery if it is open. */
export const findOpenByKey = (database: Database, key: DeliveryKey) =>
  runStatement(database, selectByKey, key);

export type OpenDelivery = Awaited<ReturnType<typeof findOpen>>[number];

/** What decides whether a delivery is still wanted. Columns of missing rows are null. */
type Wanted = { channel: DeliveryChannel; target: string; status: Notification['status'] | null } & {
  [Name in keyof Channels]: boolean | null;
} & {
  [Name in 'email' | 'emailSuspendedAt' | 'chatMemberId' | 'chatSuspendedAt' | 'subscriptionId' | 'host']:
    | string
    | null;
};

/** Returns why a delivery of {@link selectWithTargets} is no longer wanted; null if it still is. */
export function findUnwantedReason(delivery: Wanted): CancelReason | null {
  const { channel, target, status, subscriptionId, host } = delivery;
  if (status !== 'active') return 'settled';
  if (!isChannelEnabled(channel, toChannels(delivery) ?? defaultChannels)) return 'channel_disabled';
  const subscriptions = subscriptionId === null ? [] : [{ id: subscriptionId, host: host ?? '' }];
  const isTarget = listTargets(delivery, subscriptions)[channel].some(({ id }) => id === target);
  return isTarget ? null : 'target_removed';
}

/**
 * Whether a notification can no longer become active, and its request, if any, is settled. A dismissed one that was not
 * resolved can. Columns of a deleted one are null.
 */
export const isFinal = ({
  status,
  resolvedAt,
}: {
  status: string | null;
  resolvedAt: string | null;
}): boolean => status === null || resolvedAt !== null;
