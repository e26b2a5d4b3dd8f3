import type { EntityManager } from '@mikro-orm/postgresql';
import { sql, type UpdateObject } from 'kysely';
import { getKysely, type Tables } from '../database/database.ts';
import { type Time, toMilliseconds } from '../values/time.ts';
import type { Claim, DeliveryData } from './claim.ts';
import type { Delivery } from './delivery.entity.ts';
import type { CancelReason, DeliveryFailureReason, DeliveryReason } from './delivery.enums.ts';
import type { AttemptFailure, AttemptOutcome } from './outcome.ts';
import { isFinal, searchableChannels } from './select-deliveries.ts';

/** Decides the result of a delivery that is not attempted; `undefined` if it must be attempted. */
export function decideWithoutAttempt(
  { step, channel }: Claim,
  { unwanted, isExpired, mayBeDelivered }: DeliveryData,
): DeliveryResult | undefined {
  if (step === 'update' || (mayBeDelivered && searchableChannels.includes(channel))) return undefined;
  if (unwanted !== null) return endUnsent(unwanted, mayBeDelivered);
  return isExpired ? endUnsent('expired', mayBeDelivered) : undefined;
}

/** Decides the result of an attempt from its outcome. */
export function decideAfterAttempt(
  { attempts, expiresAt }: Claim,
  { mayBeDelivered }: Pick<DeliveryData, 'mayBeDelivered'>,
  outcome: AttemptOutcome,
): DeliveryResult {
  switch (outcome.kind) {
    case 'delivered':
      return { kind: 'delivered', receipt: outcome.receipt ?? null };
    case 'unwanted':
      return endUnsent(outcome.reason, mayBeDelivered);
    // The provider would have refused the same message to the same target in an earlier attempt, too.
    case 'failed':
      return fail(outcome.reason, outcome.providerCode, false);
    case 'unavailable':
    case 'retry': {
      const { reason, providerCode, retryAfterSeconds = 0, isUnclear = reason === 'reply_lost' } = outcome;
      const isUnknown = mayBeDelivered || isUnclear;
      const delay = computeRetryDelay({
        attempts,
        minimumSeconds: retryAfterSeconds,
        now: Date.now(),
        expiresAt: toMilliseconds(expiresAt),
      });
      if (delay === undefined) return fail('expired', providerCode, isUnknown);
      return { kind: 'postponed', seconds: delay / 1000, reason, providerCode, mayBeDelivered: isUnknown };
    }
  }
}

function fail(
  reason: DeliveryFailureReason,
  providerCode: string | null,
  mayBeDelivered: boolean,
): DeliveryResult {
  return { kind: 'ended', state: 'failed', reason, providerCode, wasAttempted: true, mayBeDelivered };
}

/** The result of a delivery that is no longer wanted or has expired, without another attempt to send it. */
export function endUnsent(reason: CancelReason | 'expired', mayBeDelivered: boolean): DeliveryResult {
  const state = reason === 'expired' ? 'failed' : 'cancelled';
  return { kind: 'ended', state, reason, providerCode: null, wasAttempted: false, mayBeDelivered };
}

const FIRST_DELAY_MS = 10_000;
const MAX_DELAY_MS = 3_600_000;

/** An attempt that failed. Times are in milliseconds since 1970. */
export type FailedAttempt = {
  /** The number of attempts so far, including this one and those before a manual retry. */
  attempts: number;
  /** The provider's `Retry-After`. */
  minimumSeconds: number;
  now: number;
  expiresAt: number;
};

/**
 * Returns the milliseconds until the next attempt, undefined if it would begin after the message expires. The delay is
 * 10 seconds after the first attempt and twice as long after each further one, up to an hour, less a random share of up
 * to half, but never less than `minimumSeconds`.
 */
export function computeRetryDelay(
  { attempts, minimumSeconds, now, expiresAt }: FailedAttempt,
  random: () => number = Math.random,
): number | undefined {
  const backoff = addJitter(Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), MAX_DELAY_MS), random);
  const delay = Math.max(backoff, minimumSeconds * 1000);
  return now + delay > expiresAt ? undefined : delay;
}

/** Subtracts a random share of up to half, so that deliveries that failed together are not retried together. */
export function addJitter(delay: number, random: () => number): number {
  return Math.round((delay / 2) * (1 + random()));
}

/** The result of a claim. */
export type DeliveryResult =
  | { kind: 'delivered'; receipt: string | null }
  /** To be attempted again after `seconds`. */
  | ({ kind: 'postponed' } & Postponement)
  | ({ kind: 'ended' } & End);

type Postponement = AttemptFailure & { seconds: number; mayBeDelivered: boolean };

/** Without an attempt, the delivery expired or is no longer wanted. */
type End = {
  state: 'failed' | 'cancelled';
  reason: DeliveryReason;
  providerCode: string | null;
  wasAttempted: boolean;
  /** Whether an attempt may have delivered the message. */
  mayBeDelivered: boolean;
};

/**
 * Stores the result of a claim, and returns whether the delivery stays open; `undefined` if the lease has expired and another
 * sender has claimed the delivery.
 * @param notification what was sent; `undefined` if it was deleted
 */
export async function storeResult(
  em: EntityManager,
  claim: Claim,
  notification: DeliveryData['notification'],
  result: DeliveryResult,
): Promise<Pick<Delivery, 'isOpen'> | undefined> {
  const { userId, notificationId, channel, target, claims } = claim;
  return getKysely(em)
    .updateTable('Delivery')
    .set({ ...toColumns(claim, notification, result), updatedAt: now })
    .where('userId', '=', userId)
    .where('notificationId', '=', notificationId)
    .where('channel', '=', channel)
    .where('target', '=', target)
    .where('claims', '=', claims)
    .where('state', '=', 'sending')
    .returning('isOpen')
    .executeTakeFirst();
}

const now = sql<Time>`now()`;

type DeliveryUpdate = UpdateObject<Tables, 'Delivery'>;

function toColumns(
  { step, receipt, attempts }: Claim,
  notification: DeliveryData['notification'],
  result: DeliveryResult,
): DeliveryUpdate {
  const canFollow = notification !== undefined && !isFinal(notification);
  // An update that fails for good is not repeated: the message is updated again when the notification changes again.
  const updated = {
    state: 'delivered',
    step: notification?.status === 'active' ? 'message' : 'update',
    isOpen: canFollow,
  } as const;
  switch (result.kind) {
    case 'delivered':
      return {
        // If the provider returned a receipt, it can change the message later.
        ...(step === 'update' ? updated : { state: 'delivered', isOpen: result.receipt !== null }),
        dueAt: now,
        firstDueAt: now,
        receipt: result.receipt ?? receipt,
        deliveredAt: sql<Time>`coalesce(${sql.ref('deliveredAt')}, ${now})`,
      };
    case 'postponed': {
      const { mayBeDelivered, reason, providerCode } = result;
      const dueAt = sql<Time>`now() + make_interval(secs => ${result.seconds})`;
      return { state: 'pending', dueAt, mayBeDelivered, reason, providerCode };
    }
    case 'ended': {
      const { mayBeDelivered, reason, providerCode } = result;
      return {
        ...(step === 'update' ? updated : { state: result.state, isOpen: reason === 'settled' && canFollow }),
        mayBeDelivered,
        // The claim counted an attempt. If none was made, it is subtracted.
        attempts: result.wasAttempted ? attempts : attempts - 1,
        reason,
        providerCode,
      };
    }
  }
}
