import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { getKysely } from '../database/database.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import type { ShownDeliveryState } from './delivery.enums.ts';
import { lifetime } from './queue.ts';
import {
  deliveryKey,
  isUnfinished,
  matchesKeyIn,
  selectWithTargets,
  unwantedReason,
} from './select-deliveries.ts';

/** The state that is shown. A delivered message stays delivered while it is updated. */
export const shownState: RawBuilder<ShownDeliveryState> = sql`case when step = 'update' then 'delivered'
  when ${sql.ref('mayBeDelivered')} and state in ('cancelled', 'failed') then 'maybe_delivered' else state end`;

/** Lists the deliveries of a notification, by channel. Returns none for an unknown notification. */
export function listDeliveries(em: EntityManager, userId: string, notificationId: string) {
  return getKysely(em)
    .selectFrom('Delivery')
    .select(['channel', 'target', 'attempts', 'reason', 'providerCode'])
    .select(['createdAt', 'updatedAt', 'deliveredAt'])
    .select([
      shownState.as('state'),
      sql<Time | null>`case when state = 'pending' and step = 'message' then ${sql.ref('dueAt')} end`.as(
        'nextAttemptAt',
      ),
    ])
    .where('userId', '=', userId)
    .where('notificationId', '=', notificationId)
    .orderBy('channel')
    .orderBy('target')
    .execute();
}

/** A delivery as it is shown to its user. */
export type ShownDelivery = Awaited<ReturnType<typeof listDeliveries>>[number];

/**
 * The deliveries of a channel whose first attempt was due and that are not finished. `dueSince` is when the first attempt
 * of the oldest was due, and `overdueSince` since when one waits for a sender; null if all wait for their next attempt.
 */
export type Backlog = { channel: DeliveryChannel; count: number; dueSince: Time; overdueSince: Time | null };

/** Gateways of version 0.2 set only `dueAt`. */
const firstDueAt = sql<Time>`coalesce(${sql.ref('firstDueAt')}, ${sql.ref('dueAt')})`;

/** Reads the backlog of each channel. Omits channels without one. */
export async function readBacklog(em: EntityManager): Promise<Backlog[]> {
  return getKysely(em)
    .selectFrom('Delivery')
    .select(['channel', (eb) => eb.fn.countAll<number>().as('count')])
    .select([
      sql<Time>`min(${firstDueAt})`.as('dueSince'),
      sql<Time | null>`min(${sql.ref('dueAt')}) filter (where ${sql.ref('dueAt')} <= now())`.as(
        'overdueSince',
      ),
    ])
    .where(isUnfinished)
    .where(firstDueAt, '<=', sql<Time>`now()`)
    .groupBy('channel')
    .orderBy('channel')
    .execute();
}

/** The maximum number of deliveries that one call retries. */
export const MAX_RETRIED = 1000;

/** The deliveries to retry: on these channels, and of all users if `userId` is null. */
export type RetryFilter = { channels: readonly DeliveryChannel[]; userId: string | null };

/**
 * Makes failed deliveries due again, earliest failures first, and returns their number. Deliveries that are no longer
 * wanted stay failed.
 */
export async function retryDeliveries(em: EntityManager, { channels, userId }: RetryFilter): Promise<number> {
  const { numUpdatedRows } = await getKysely(em)
    .with('failed', (db) =>
      selectWithTargets(db)
        .select(deliveryKey)
        .where('Delivery.state', '=', sql.lit('failed' as const))
        .where('Delivery.channel', 'in', channels)
        .$if(userId !== null, (deliveries) => deliveries.where('Delivery.userId', '=', userId))
        .where(unwantedReason, 'is', null)
        .orderBy('Delivery.updatedAt')
        .limit(MAX_RETRIED),
    )
    .updateTable('Delivery')
    .from('failed')
    .set({
      state: 'pending',
      isOpen: true,
      dueAt: sql`now()`,
      firstDueAt: sql`now()`,
      expiresAt: sql`now() + ${lifetime}`,
      updatedAt: sql`now()`,
    })
    .where(matchesKeyIn('failed'))
    .where('Delivery.state', '=', 'failed')
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
