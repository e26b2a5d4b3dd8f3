import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager } from '../database/database.ts';
import type { Log } from '../log.ts';
import type { DeliveryMetrics } from '../metrics/delivery-metrics.ts';
import type { Outbox } from '../revisions/outbox.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { toMilliseconds } from '../values/time.ts';
import type { Outcome } from './channel.ts';
import type { Claim } from './claim-due.ts';
import { describeMessage } from './describe-message.ts';
import type { Loaded } from './load-claimed.ts';
import type { Message } from './message.ts';
import type { ProviderHealth } from './provider-health.ts';
import type { Providers } from './providers.ts';
import { computePausedDelay, computeRetryDelay } from './retry-delay.ts';
import { type Result, storeResult } from './store-result.ts';
import { suspendTarget } from './suspend-target.ts';
import type { Attempt, Transport } from './transport.ts';

/** What delivering needs. */
export type DeliveryOptions = {
  em: EntityManager;
  outbox: Outbox;
  transports: ReadonlyMap<DeliveryChannel, Transport>;
  providers: Providers;
  /** The URL of a notification, with `{id}` in place of its ID. */
  appUrl: string | null;
  metrics: DeliveryMetrics;
  log: Log;
};

/** Shorter than a lease, so that the result can still be stored. */
const ATTEMPT_MS = 20_000;

/** Delivers a claimed delivery and stores the result. Rejects if the result cannot be stored; its lease then expires. */
export async function deliver(options: DeliveryOptions, claim: Claim, loaded: Loaded): Promise<void> {
  const { em, appUrl, transports, providers } = options;
  const end = findResultWithoutAttempt(claim, loaded);
  const message = describeMessage(claim, loaded, appUrl);
  if (end !== undefined || message === undefined) {
    await storeResult(em, claim, end ?? { kind: 'cancelled', reason: 'settled' });
    return;
  }
  const attempt = await transports.get(claim.channel)?.open(loaded);
  if (attempt === undefined) {
    const failure = { reason: 'target_unreadable', providerCode: null } as const;
    await finish(options, claim, loaded, { kind: 'retry', ...failure });
    return;
  }
  const provider = providers.get(attempt.provider);
  if (provider.health.admit(performance.now(), provider.running) < 1) {
    const seconds = Math.max(secondsUntilResumed(provider.health), computePausedDelay(claim.claims) / 1000);
    await storeResult(em, claim, { kind: 'postponed', seconds, failure: null });
    return;
  }
  provider.running += 1;
  const outcome = await run(attempt, claim, message).finally(() => {
    provider.running -= 1;
  });
  recordHealth(provider.health, outcome);
  await finish(options, claim, loaded, outcome, provider.health);
}

/** Decides a delivery that is not attempted. */
function findResultWithoutAttempt({ step }: Claim, { unwanted, isExpired }: Loaded): Result | undefined {
  if (step === 'update') return undefined;
  if (unwanted !== null) return { kind: 'cancelled', reason: unwanted };
  return isExpired ? { kind: 'expired' } : undefined;
}

/** Runs an attempt. One that does not end in time may have been delivered. */
async function run(attempt: Attempt, claim: Claim, message: Message): Promise<Outcome> {
  const finished = new AbortController();
  const timeout = AbortSignal.timeout(ATTEMPT_MS);
  const late: Outcome = { kind: 'retry', reason: 'reply_lost', providerCode: null };
  const deadline = pause(ATTEMPT_MS + 1000, late, { signal: finished.signal });
  try {
    return await Promise.race([attempt.run(claim, message, timeout), deadline]);
  } finally {
    finished.abort();
    deadline.catch(() => undefined);
  }
}

function recordHealth(health: ProviderHealth, outcome: Outcome): void {
  if (outcome.kind === 'unavailable') health.failed(outcome, performance.now());
  else if (outcome.kind === 'delivered' || outcome.kind === 'failed') health.succeeded(performance.now());
}

/** Stores the outcome of an attempt, unless another sender has claimed the delivery, and reports it. */
async function finish(
  options: DeliveryOptions,
  claim: Claim,
  loaded: Loaded,
  outcome: Outcome,
  health?: ProviderHealth,
): Promise<void> {
  const { em, outbox, metrics, log } = options;
  const result = toResult(claim, outcome, health);
  const isStored = await storeResult(em, claim, result);
  const { userId, notificationId, channel, step, attempts } = claim;
  const { reason, providerCode } = outcome.kind === 'delivered' ? {} : outcome;
  log.info(
    {
      user: userId,
      notification: notificationId,
      channel,
      step,
      attempts,
      outcome: outcome.kind,
      reason,
      providerCode,
    },
    isStored ? 'delivery attempt' : 'delivery attempt; the lease was lost and the result is discarded',
  );
  metrics.countAttempt(channel, reason ?? 'delivered');
  if (!isStored) return;
  if (outcome.kind === 'delivered' && step === 'message') {
    metrics.observeDelay(channel, (Date.now() - toMilliseconds(claim.createdAt)) / 1000);
  }
  if (outcome.kind === 'failed' && outcome.suspendTarget) await suspendTarget(em, outbox, loaded);
}

function toResult({ attempts, expiresAt }: Claim, outcome: Outcome, health?: ProviderHealth): Result {
  switch (outcome.kind) {
    case 'delivered':
      return { kind: 'delivered', receipt: outcome.receipt ?? null };
    case 'failed':
      return outcome;
    case 'unavailable':
      return { kind: 'postponed', seconds: health ? secondsUntilResumed(health) : 0, failure: outcome };
    case 'retry': {
      const { retryAfterSeconds } = outcome;
      const now = Date.now();
      const delay = computeRetryDelay({
        failures: attempts,
        retryAfterSeconds,
        now,
        expiresAt: toMilliseconds(expiresAt),
      });
      if (delay === undefined)
        return { kind: 'failed', reason: 'expired', providerCode: outcome.providerCode };
      return { kind: 'postponed', seconds: delay / 1000, failure: outcome };
    }
  }
}

function secondsUntilResumed({ pausedUntil = 0 }: ProviderHealth): number {
  return Math.max(0, pausedUntil - performance.now()) / 1000;
}
