import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import type { DeliveryState } from './delivery.enums.ts';

/** The state that is shown: a delivered message stays delivered while it is updated. */
const shownState: RawBuilder<DeliveryState> = sql`case step when 'update' then 'delivered' else state end`;

const find = defineListRead((db, { param }: ReadParams<{ userId: string; notificationId: string }>) =>
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
      sql<Time | null>`case when state = 'pending' and step = 'message' then due_at end`.as('nextAttemptAt'),
    ])
    .where('userId', '=', param('userId'))
    .where('notificationId', '=', param('notificationId'))
    .orderBy('channel')
    .orderBy('target'),
);

/** A delivery as it is shown to its user. */
export type ShownDelivery = Awaited<ReturnType<typeof find>>[number];

/** Lists the deliveries of a notification, by channel. Returns none for an unknown notification. */
export function listDeliveries(
  database: Database,
  userId: string,
  notificationId: string,
): Promise<ShownDelivery[]> {
  return find(database, { userId, notificationId });
}

/** The number of deliveries in a state. */
export type DeliveryCount = { channel: DeliveryChannel; state: DeliveryState; count: number };

/** Counts the deliveries of all users by channel and state. Combinations without any are omitted. */
export async function countDeliveries(database: Database): Promise<DeliveryCount[]> {
  return database.query
    .selectFrom('Delivery')
    .select(['channel', shownState.as('state'), (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy(['channel', shownState])
    .orderBy('channel')
    .orderBy('state')
    .execute();
}

/** A channel's due deliveries, and the time since which the oldest has been due. */
export type Backlog = { channel: DeliveryChannel; count: number; dueSince: Time };

/** Reads the backlog of each channel. Omits channels without due deliveries. */
export async function readBacklog(database: Database): Promise<Backlog[]> {
  return database.query
    .selectFrom('Delivery')
    .select(['channel', (eb) => eb.fn.countAll<number>().as('count')])
    .select(({ fn }) => fn.min('dueAt').as('dueSince'))
    .where(sql<boolean>`state in ('pending', 'sending')`)
    .where('dueAt', '<=', sql<Time>`now()`)
    .groupBy('channel')
    .orderBy('channel')
    .execute();
}
