import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { type Database, getKysely } from '../database/database.ts';
import type { CancelReason, DeliveryState, DeliveryStep } from './delivery.enums.ts';
import {
  type DeliveryKey,
  findOpen,
  findOpenByKey,
  findUnwantedReason,
  hasKeyOf,
  isFinal,
  keyProperties,
  MAX_CHECKED,
  type OpenDelivery,
  searchableChannels,
  toKeys,
} from './select-deliveries.ts';

/*
 * A delivery is open while a later change can still cancel it, queue it again, or queue an update of its message. Changes of
 * notifications, channels and targets do none of this themselves: open deliveries follow them afterwards. Each is compared
 * with what holds when it is read, so one that missed a change, or followed an old state, follows the next time.
 */

/** Sorts before all keys of deliveries. */
export const firstKey: DeliveryKey = { userId: '', notificationId: '', channel: '', target: '' };

/** Makes the open deliveries of users follow what has changed. */
export async function followChanges(database: Database, users: readonly string[]): Promise<void> {
  let after: DeliveryKey | undefined = firstKey;
  while (after !== undefined) after = await followAll(database, await findOpen(database, after, users));
}

/**
 * Does the same for the deliveries of all users after a key, as many as one step checks. Returns the key after which the
 * next step begins; `undefined` if there are no more.
 */
export async function followChangesAfter(
  database: Database,
  after: DeliveryKey,
): Promise<DeliveryKey | undefined> {
  return followAll(database, await findOpen(database, after));
}

/** Does the same for one delivery, which a sender has attempted meanwhile. */
export async function followChangesOf(database: Database, delivery: DeliveryKey): Promise<void> {
  await followAll(database, await findOpenByKey(database, delivery));
}

async function followAll(
  database: Database,
  open: readonly OpenDelivery[],
): Promise<DeliveryKey | undefined> {
  const found = open.flatMap((delivery) => {
    const change = decideChange(delivery);
    return change === undefined ? [] : { ...delivery, ...change };
  });
  if (found.length > 0) await store(database.fork(), found);
  return open.length < MAX_CHECKED ? undefined : open.at(-1);
}

/**
 * What becomes of an open delivery, and whether it stays open:
 *
 * - `cancel`: it is not sent.
 * - `search`: the sender looks for a message that an attempt may have delivered, and then decides.
 * - `queue`: it is sent after all.
 * - `update`: its delivered message is changed to what then holds of the notification.
 * - `close`: nothing, and no later change concerns it.
 */
type DeliveryChange = {
  action: 'cancel' | 'search' | 'queue' | 'update' | 'close';
  reason?: CancelReason;
  isOpen: boolean;
};

/**
 * Decides what becomes of an open delivery; `undefined` if it stays as it is. A dismissal may be undone: until the delivery
 * expires, it can be sent again. A delivered message can be changed again for a day, that of an open request at any time.
 */
export function decideChange(delivery: OpenDelivery): DeliveryChange | undefined {
  const { state, step, status, requestState, isExpired } = delivery;
  const reason = findUnwantedReason(delivery);
  const isHidden = reason === 'settled' && !isFinal(delivery);
  switch (state) {
    case 'pending': {
      // An update shows what holds when it is sent.
      if (reason === null || step === 'update') return undefined;
      const mustSearch = delivery.mayBeDelivered && searchableChannels.includes(delivery.channel);
      return mustSearch
        ? { action: 'search', isOpen: false }
        : { action: 'cancel', reason, isOpen: isHidden };
    }
    case 'cancelled':
      if (reason === null && !isExpired) return { action: 'queue', isOpen: true };
      return isHidden && !isExpired ? undefined : { action: 'close', isOpen: false };
    case 'delivered':
      // Of an active notification, the message is as it was sent (step `message`).
      if (isFinal(delivery) || (status === 'active') !== (step === 'message'))
        return { action: 'update', isOpen: true };
      return isHidden && delivery.wasDismissedLongAgo && requestState !== 'open'
        ? { action: 'close', isOpen: false }
        : undefined;
    // The sender makes it follow once the attempt has ended.
    case 'sending':
    case 'failed':
      return undefined;
  }
}

const { ref } = sql;
const dueAt = ref('Delivery.dueAt');
const firstDueAt = ref('Delivery.firstDueAt');

/** How long after a change the sender looks for a message at the latest. The provider may still be accepting it. */
const SEARCH_DELAY = sql.raw(`interval '10 s'`);

/** Stores what becomes of deliveries, unless a sender has claimed them or stored a result since they were read. */
async function store(em: EntityManager, found: readonly (OpenDelivery & DeliveryChange)[]): Promise<void> {
  const keys = toKeys(found);
  const texts = [
    ...keyProperties.map((name) => keys[name]),
    found.map(({ state }) => state),
    found.map(({ action }) => action),
    found.map(({ reason = null }) => reason),
  ].map((values) => sql`${values}::text[]`);
  const claims = sql`${found.map((one) => one.claims)}::int[]`;
  const isOpen = sql`${found.map((one) => one.isOpen)}::bool[]`;
  const names = [...keyProperties, 'state', 'action', 'reason', 'claims', 'isOpen'].map((name) => ref(name));
  const changes = sql<{
    claims: number;
    state: DeliveryState;
  }>`unnest(${sql.join([...texts, claims, isOpen])})`;
  await getKysely(em)
    .updateTable('Delivery')
    .from(changes.as<'change'>(sql`change (${sql.join(names)})`))
    .set({
      state: sql<DeliveryState>`case when change.action = 'cancel' then 'cancelled'
        when change.action in ('queue', 'update') then 'pending' else ${ref('Delivery.state')} end`,
      step: sql<DeliveryStep>`case change.action when 'update' then 'update' else ${ref('Delivery.step')} end`,
      dueAt: sql`case change.action when 'update' then now() when 'queue' then greatest(${dueAt}, now())
        when 'search' then least(${dueAt}, now() + ${SEARCH_DELAY}) else ${dueAt} end`,
      firstDueAt: sql`case change.action when 'update' then now() when 'queue' then greatest(${firstDueAt}, now())
        else ${firstDueAt} end`,
      reason: sql<CancelReason>`case change.action when 'cancel' then change.reason when 'queue' then null
        else ${ref('Delivery.reason')} end`,
      isOpen: sql<boolean>`${ref('change.isOpen')}`,
      updatedAt: sql`now()`,
    })
    .where(hasKeyOf('change'))
    .whereRef('Delivery.claims', '=', 'change.claims')
    .whereRef('Delivery.state', '=', 'change.state')
    .where('Delivery.isOpen', '=', sql.lit(true))
    .execute();
}
