import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';
import { defineStatement, type Params, runStatement } from '../database/statement.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import type { DeliveryState } from './delivery.enums.ts';
import { lifetime } from './queue.ts';
import {
  deliveryKey,
  isUnfinished,
  matchesKeyIn,
  selectWithTargets,
  unwantedReason,
} from './select-deliveries.ts';

/** The state that is shown: a delivered message stays delivered while it is updated. */
export const shownState: RawBuilder<DeliveryState> = sql`case step when 'update' then 'delivered' else state end`;

/** Lists the deliveries of a notification, by channel. Returns none for an unknown notification. */
export const listDeliveries = defineListRead(
  (db, { param }: ReadParams<{ userId: string; notificationId: string }>) =>
    db
      .selectFrom('Delivery')
      .select([
        'channel',
        'target',
        'attempts',
        'reason',
        'providerCode',
        'createdAt',
        'updatedAt',
        'deliveredAt',
      ])
      .select([
        shownState.as('state'),
        sql<Time | null>`case when state = 'pending' and step = 'message' then ${sql.ref('dueAt')} end`.as(
          'nextAttemptAt',
        ),
      ])
      .where('userId', '=', param('userId'))
      .where('notificationId', '=', param('notificationId'))
      .orderBy('channel')
      .orderBy('target'),
);

/** A delivery as it is shown to its user. */
export type ShownDelivery = Awaited<ReturnType<typeof listDeliveries>>[number];

/** A channel's due deliveries, and the time since which the oldest has been due. */
export type Backlog = { channel: DeliveryChannel; count: number; dueSince: Time };

/** Reads the backlog of each channel. Omits channels without due deliveries. */
export async function readBacklog(database: Database): Promise<Backlog[]> {
  return database.query
    .selectFrom('Delivery')
    .select(['channel', (eb) => eb.fn.countAll<number>().as('count')])
    .select(({ fn }) => fn.min('dueAt').as('dueSince'))
    .where(isUnfinished)
    .where('dueAt', '<=', sql<Time>`now()`)
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
export async function retryDeliveries(database: Database, filter: RetryFilter): Promise<number> {
  const retried = await runStatement(database, retryFailed, filter);
  return retried.length;
}

const retryFailed = defineStatement((db, { param }: Params<RetryFilter>) =>
  db
    .with('failed', (db) =>
      selectWithTargets(db)
        .select(deliveryKey)
        .where('Delivery.state', '=', sql.lit('failed' as const))
        .where('Delivery.channel', '=', sql<DeliveryChannel>`any(${param('channels', 'text[]')})`)
        .where(
          sql<boolean>`(${param('userId', 'text')} is null or ${sql.ref('Delivery.userId')} = ${param('userId', 'text')})`,
        )
        .where(unwantedReason, 'is', null)
        .orderBy('Delivery.updatedAt')
        .limit(sql.lit(MAX_RETRIED)),
    )
    .updateTable('Delivery')
    .from('failed')
    .set({
      state: 'pending',
      isOpen: true,
      dueAt: sql`now()`,
      expiresAt: sql`now() + ${lifetime}`,
      updatedAt: sql`now()`,
    })
    .where(matchesKeyIn('failed'))
    .where('Delivery.state', '=', 'failed')
    .returning('Delivery.channel'),
);
