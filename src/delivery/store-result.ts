import { type Kysely, sql } from 'kysely';
import type { Database, Tables } from '../database/database.ts';
import { defineStatement, type Params, runStatement } from '../database/statement.ts';
import type { AttemptFailure } from './channel.ts';
import type { Claim } from './claim-due.ts';
import type { CancelReason, DeliveryReason, DeliveryState, DeliveryStep } from './delivery.enums.ts';

/** The result of a claim. */
export type DeliveryResult =
  | { kind: 'delivered'; receipt: string | null }
  /** To be attempted again after `seconds`. */
  | ({ kind: 'postponed'; seconds: number } & AttemptFailure)
  | ({ kind: 'failed' } & AttemptFailure)
  /** Not attempted, because it expired. */
  | { kind: 'expired' }
  /** Not attempted, because it is no longer wanted. */
  | { kind: 'cancelled'; reason: CancelReason };

/**
 * Stores the result of a claim. Returns `false` if the lease has expired and another sender has claimed the delivery.
 */
export async function storeResult(
  database: Database,
  claim: Claim,
  result: DeliveryResult,
): Promise<boolean> {
  const stored = await runResult(database, claim, result);
  return stored.length > 0;
}

function runResult(database: Database, claim: Claim, result: DeliveryResult) {
  switch (result.kind) {
    case 'delivered':
      return runStatement(database, storeDelivered, { ...claim, receipt: result.receipt });
    case 'postponed':
      return runStatement(database, storePostponed, { ...claim, ...result });
    case 'failed':
      return runStatement(database, storeEnd, { ...claim, ...result, state: 'failed', wasAttempted: true });
    case 'expired':
      return runStatement(database, storeEnd, {
        ...claim,
        ...unattempted,
        state: 'failed',
        reason: 'expired',
      });
    case 'cancelled':
      return runStatement(database, storeEnd, {
        ...claim,
        ...unattempted,
        state: 'cancelled',
        reason: result.reason,
      });
  }
}

type Key = Pick<Claim, 'userId' | 'notificationId' | 'channel' | 'target' | 'claims'>;

/** Updates a claimed delivery, unless another sender has claimed it since. */
function updateClaimed(db: Kysely<Tables>, { param }: Params<Key>) {
  return db
    .updateTable('Delivery')
    .set({ updatedAt: sql`now()` })
    .where('userId', '=', param('userId'))
    .where('notificationId', '=', param('notificationId'))
    .where('channel', '=', param('channel'))
    .where('target', '=', param('target'))
    .where('claims', '=', param('claims'))
    .where('state', '=', 'sending')
    .returning('state');
}

/**
 * If the provider returned a receipt, it can change the message later. The delivery then stays open (`isOpen`) until
 * its notification is settled, so that the message can be updated. If the notification was settled during the attempt,
 * the message is updated next.
 */
const storeDelivered = defineStatement((db, params: Params<Key & { receipt: string | null }>) => {
  const receipt = params.param('receipt', 'text');
  const isChangeable = sql`step = 'message' and ${receipt} is not null`;
  return updateClaimed(db, params).set((eb) => ({
    state: sql<DeliveryState>`case when ${isChangeable} and not is_open then 'pending' else 'delivered' end`,
    step: sql<DeliveryStep>`case when ${isChangeable} and not is_open then 'update' else step end`,
    isOpen: sql<boolean>`${isChangeable} and is_open`,
    dueAt: sql`now()`,
    receipt: eb.fn.coalesce(receipt, 'receipt'),
    deliveredAt: sql`coalesce(delivered_at, now())`,
  }));
});

type Postponement = Key & AttemptFailure & { seconds: number };

const storePostponed = defineStatement((db, params: Params<Postponement>) => {
  const { param } = params;
  return updateClaimed(db, params).set({
    state: 'pending',
    dueAt: sql`now() + make_interval(secs => ${param('seconds', 'float8')})`,
    reason: param('reason'),
    providerCode: param('providerCode', 'text'),
  });
});

type End = Key & {
  state: 'failed' | 'cancelled';
  reason: DeliveryReason;
  providerCode: string | null;
  wasAttempted: boolean;
};

const unattempted = { wasAttempted: false, providerCode: null };

/** A delivery whose step `update` fails becomes `delivered` again, because its message was delivered earlier. */
const storeEnd = defineStatement((db, params: Params<End>) => {
  const { param } = params;
  return updateClaimed(db, params).set({
    state: sql<DeliveryState>`case step when 'update' then 'delivered' else ${param('state', 'text')} end`,
    isOpen: false,
    // The claim counted an attempt. If none was made, it is subtracted.
    attempts: sql<number>`attempts - case when ${param('wasAttempted', 'bool')} then 0 else 1 end`,
    reason: param('reason'),
    providerCode: param('providerCode', 'text'),
  });
});
