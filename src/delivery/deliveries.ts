import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { defineBatchedRead } from '../database/batched-read.ts';
import { getKysely } from '../database/database.ts';
import { LIFETIME_MS } from '../notifications/publish.ts';
import { type DeliveryChannel, deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import {
  deliveryKey,
  findUnwantedReason,
  hasKey,
  isUnfinished,
  selectWithTargets,
  toKeys,
} from './select-deliveries.ts';
import { type ShownDelivery, selectShown, shownProperties } from './shown-deliveries.ts';

const now = sql<Time>`now()`;

/** A notification by its user and ID. */
export type NotificationKey = { userId: string; notificationId: string };

/** Lists the deliveries of notifications, by channel. An unknown notification has none. */
function listDeliveries(em: EntityManager, keys: readonly NotificationKey[]): Promise<ShownDelivery[]> {
  const users = keys.map(({ userId }) => userId);
  const ids = keys.map(({ notificationId }) => notificationId);
  return getKysely(em)
    .selectFrom('Notification')
    .innerJoinLateral(selectShown('Notification').as('shown'), (join) => join.onTrue())
    .select(['Notification.userId', 'Notification.id as notificationId', 'Notification.createdAt'])
    .select(shownProperties)
    .where(
      sql<boolean>`(${sql.ref('Notification.userId')}, ${sql.ref('Notification.id')}) in (
        select * from unnest(${users}::text[], ${ids}::text[]))`,
    )
    .orderBy('shown.channel')
    .orderBy('shown.target')
    .execute();
}

/**
 * The deliveries of a channel whose first attempt was due and that are not finished. `dueSince` is when the first attempt
 * of the oldest was due, and `overdueSince` since when one waits for a sender; null if all wait for their next attempt.
 */
export type Backlog = { channel: DeliveryChannel; count: number; dueSince: Time; overdueSince: Time | null };

/** Reads the backlog of each channel. Omits channels without one. */
export async function readBacklog(em: EntityManager): Promise<Backlog[]> {
  return getKysely(em)
    .selectFrom('Delivery')
    .select(['channel', (eb) => eb.fn.countAll<number>().as('count')])
    .select([
      ({ fn }) => fn.min('firstDueAt').as('dueSince'),
      sql<Time | null>`min(${sql.ref('dueAt')}) filter (where ${sql.ref('dueAt')} <= now())`.as(
        'overdueSince',
      ),
    ])
    .where(isUnfinished)
    .where('firstDueAt', '<=', now)
    .groupBy('channel')
    .orderBy('channel')
    .execute();
}

/** The maximum number of deliveries that one call retries. */
export const MAX_RETRIED = 1000;

/** The deliveries to retry. An omitted list or null matches everything, an empty list nothing. */
export type RetryFilter = {
  channels?: readonly DeliveryChannel[] | null | undefined;
  userIds?: readonly string[] | null | undefined;
};

/**
 * Makes failed deliveries due again, earliest failures first, and returns their number. Deliveries that are no longer
 * wanted stay failed.
 */
export async function retryDeliveries(
  em: EntityManager,
  { channels, userIds }: RetryFilter,
): Promise<number> {
  const db = getKysely(em);
  const failed = selectWithTargets(db)
    .select(deliveryKey)
    .where('Delivery.state', '=', sql.lit('failed' as const))
    .where((eb) => eb('Delivery.channel', '=', eb.fn.any(eb.val([...(channels ?? deliveryChannels)]))))
    .$if(userIds != null, (deliveries) =>
      deliveries.where((eb) => eb('Delivery.userId', '=', eb.fn.any(eb.val([...(userIds ?? [])])))),
    )
    .orderBy('Delivery.updatedAt')
    .orderBy(deliveryKey)
    .limit(MAX_RETRIED);
  const isWanted = (delivery: Parameters<typeof findUnwantedReason>[0]) =>
    findUnwantedReason(delivery) === null;
  let found = await failed.execute();
  const wanted = found.filter(isWanted);
  for (
    let offset = MAX_RETRIED;
    found.length === MAX_RETRIED && wanted.length < MAX_RETRIED;
    offset += MAX_RETRIED
  ) {
    found = await failed.offset(offset).execute();
    wanted.push(...found.filter(isWanted));
  }
  const keys = toKeys(wanted.slice(0, MAX_RETRIED));
  const { numUpdatedRows } = await db
    .updateTable('Delivery')
    .set({
      state: 'pending',
      isOpen: true,
      dueAt: now,
      firstDueAt: now,
      expiresAt: sql`now() + make_interval(secs => ${LIFETIME_MS / 1000})`,
      updatedAt: now,
    })
    .where(hasKey((name) => sql`${keys[name]}::text[]`))
    .where('Delivery.state', '=', 'failed')
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Reads the deliveries of a notification, by channel. Concurrent calls become one statement. */
export const readDeliveries = defineBatchedRead<NotificationKey, ShownDelivery[]>(async (database, keys) => {
  const found = Map.groupBy(await listDeliveries(database.fork(), keys), toText);
  return keys.map((key) => found.get(toText(key)) ?? []);
});

function toText({ userId, notificationId }: NotificationKey): string {
  return JSON.stringify([userId, notificationId]);
}
