import { toMilliseconds } from '../values/time.ts';
import type { Outcome } from './channel.ts';
import type { Claim } from './claim-due.ts';
import type { Loaded } from './load-claimed.ts';
import type { Provider } from './providers.ts';
import { computeRetryDelay } from './retry-delay.ts';
import type { Result } from './store-result.ts';

/** Decides the result of a delivery that is not attempted; `undefined` if it must be. */
export function findResultWithoutAttempt(
  { step }: Claim,
  { unwanted, isExpired }: Loaded,
): Result | undefined {
  if (step === 'update') return undefined;
  if (unwanted !== null) return { kind: 'cancelled', reason: unwanted };
  return isExpired ? { kind: 'expired' } : undefined;
}

/** Decides the result of an attempt by its outcome. The pause of the provider delays the next attempt. */
export function toResult({ attempts, expiresAt }: Claim, outcome: Outcome, provider?: Provider): Result {
  switch (outcome.kind) {
    case 'delivered':
      return { kind: 'delivered', receipt: outcome.receipt ?? null };
    case 'failed':
      return outcome;
    case 'unavailable':
    case 'retry': {
      const { reason, providerCode, retryAfterSeconds = 0 } = outcome;
      const pauseSeconds = ((provider?.health.pausedUntil ?? 0) - performance.now()) / 1000;
      const delay = computeRetryDelay({
        failures: attempts,
        retryAfterSeconds: Math.max(retryAfterSeconds, pauseSeconds),
        now: Date.now(),
        expiresAt: toMilliseconds(expiresAt),
      });
      if (delay === undefined) return { kind: 'failed', reason: 'expired', providerCode };
      return { kind: 'postponed', seconds: delay / 1000, reason, providerCode };
    }
  }
}
