import { toMilliseconds } from '../values/time.ts';
import type { AttemptOutcome } from './channel.ts';
import type { Claim } from './claim-due.ts';
import type { DeliveryData } from './load-delivery-data.ts';
import { computeRetryDelay } from './retry-delay.ts';
import type { DeliveryResult } from './store-result.ts';

/** Decides the result of a delivery that is not attempted; `undefined` if it must be attempted. */
export function decideWithoutAttempt(
  { step }: Claim,
  { unwanted, isExpired }: DeliveryData,
): DeliveryResult | undefined {
  if (step === 'update') return undefined;
  if (unwanted !== null) return { kind: 'cancelled', reason: unwanted };
  return isExpired ? { kind: 'expired' } : undefined;
}

/**
 * Decides the result of an attempt from its outcome. The next attempt is not made before `pausedUntil`, the end of the
 * provider's pause by `performance.now()`.
 */
export function decideAfterAttempt(
  { attempts, expiresAt }: Claim,
  outcome: AttemptOutcome,
  pausedUntil = 0,
): DeliveryResult {
  switch (outcome.kind) {
    case 'delivered':
      return { kind: 'delivered', receipt: outcome.receipt ?? null };
    case 'failed':
      return outcome;
    case 'unavailable':
    case 'retry': {
      const { reason, providerCode, retryAfterSeconds = 0 } = outcome;
      const pauseSeconds = (pausedUntil - performance.now()) / 1000;
      const delay = computeRetryDelay({
        attempts,
        minimumSeconds: Math.max(retryAfterSeconds, pauseSeconds),
        now: Date.now(),
        expiresAt: toMilliseconds(expiresAt),
      });
      if (delay === undefined) return { kind: 'failed', reason: 'expired', providerCode };
      return { kind: 'postponed', seconds: delay / 1000, reason, providerCode };
    }
  }
}
