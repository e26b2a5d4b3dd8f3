import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { type Database, getKysely } from '../database/database.ts';
import { valuesOf } from '../database/statement.ts';
import type { CancelReason, DeliveryState, DeliveryStep } from './delivery.enums.ts';
import {
  type DeliveryKey,
  findOpen,
  findUnwantedReason,
  hasKeyOf,
  keyProperties,
  MAX_CHECKED,
  searchableChannels,
  selectOpen,
  toKeys,
} from './select-deliveries.ts';

/*
 * A delivery is open while a later change can still cancel it or, if its message was delivered, queue an update of the
 * message. Settling a notification, disabling a channel or removing a target ends them
 * afterwards: a sender looks before it sends, and this is what ends those that nobody sends.
 */

/** Sorts before all keys of deliveries. */
export const firstKey: DeliveryKey = { userId: '', notificationId: '', channel: '', target: '' };

/** Ends the open deliveries of users that are no longer wanted. */
export async function endUnwanted(database: Database, users: readonly string[]): Promise<void> {
  let after: DeliveryKey | undefined = firstKey;
  while (after !== undefined) after = await endThose(database.fork(), await findOpen(database, users, after));
}

/**
 * Does the same for the deliveries of all users after a key, as many as one step checks. Returns the key after which the
 * next step begins; `undefined` if there are no more.
 */
export async function endUnwantedAfter(
  em: EntityManager,
  after: DeliveryKey,
): Promise<DeliveryKey | undefined> {
  return endThose(em, await selectOpen(getKysely(em), valuesOf(after)).execute());
}

async function endThose(em: EntityManager, open: Awaited<ReturnType<typeof findOpen>>) {
  const unwanted = open.flatMap((delivery) => {
    const reason = findUnwantedReason(delivery);
    // Only what is settled ends a delivery that is being sent or was delivered.
    return reason === null || (reason !== 'settled' && delivery.state !== 'pending')
      ? []
      : { ...delivery, reason };
  });
  if (unwanted.length > 0) await endDeliveries(em, unwanted);
  return open.length < MAX_CHECKED ? undefined : open.at(-1);
}

const { ref } = sql;
const state = ref('Delivery.state');
const dueAt = ref('Delivery.dueAt');

/**
 * How long after a change the sender looks for a message that an attempt may have delivered. The provider may still be
 * accepting it.
 */
const SEARCH_DELAY = sql.raw(`interval '10 s'`);

/** Whether the sender must look for the message before the delivery can end. */
const mustSearch = sql<boolean>`(${state} = 'pending' and ${ref('Delivery.mayBeDelivered')}
  and ${ref('Delivery.channel')} in (${sql.join(searchableChannels.map((channel) => sql.lit(channel)))}))`;

/**
 * Ends open deliveries by their keys, each for a reason. They are no longer open, with one exception:
 *
 * - A pending delivery is cancelled. If an attempt may have delivered its message and the channel can search for it, the
 *   sender does so first. The delivery stays pending until then, and open unless it is settled.
 * - If the reason is `settled`, a delivered message that can be changed is queued again to be updated (step `update`).
 * - If the reason is `settled` and the delivery is being sent, its state stays. If the attempt then delivers a message that
 *   can be changed, `storeResult` queues the update.
 */
async function endDeliveries(
  em: EntityManager,
  unwanted: readonly (Record<(typeof keyProperties)[number], string> & { reason: CancelReason })[],
): Promise<void> {
  const keys = toKeys(unwanted);
  const columns = [...keyProperties.map((name) => keys[name]), unwanted.map(({ reason }) => reason)];
  const names = sql.join(keyProperties.map((name) => ref(name)));
  const reasons = sql<{
    reason: CancelReason;
  }>`unnest(${sql.join(columns.map((values) => sql`${values}::text[]`))})`;
  await getKysely(em)
    .updateTable('Delivery')
    .from(reasons.as<'reasons'>(sql`reasons (${names}, reason)`))
    .set({
      state: sql<DeliveryState>`case when ${mustSearch} or ${state} = 'delivered' then 'pending'
        when ${state} = 'pending' then 'cancelled' else ${state} end`,
      step: sql<DeliveryStep>`case ${state} when 'delivered' then 'update' else ${ref('Delivery.step')} end`,
      dueAt: sql`case when ${state} = 'delivered' then now()
        when ${mustSearch} then least(${dueAt}, now() + ${SEARCH_DELAY}) else ${dueAt} end`,
      firstDueAt: sql`case ${state} when 'delivered' then now() else ${ref('Delivery.firstDueAt')} end`,
      reason: sql<CancelReason>`case when ${state} = 'pending' and not ${mustSearch} then reasons.reason
        else ${ref('Delivery.reason')} end`,
      isOpen: sql<boolean>`${mustSearch} and reasons.reason <> 'settled'`,
      updatedAt: sql`now()`,
    })
    .where(hasKeyOf('reasons'))
    .where('Delivery.userId', 'in', [...new Set(keys.userId)])
    .where('Delivery.isOpen', '=', sql.lit(true))
    .where(sql<boolean>`(${state} = 'pending' or reasons.reason = 'settled')`)
    .execute();
}
