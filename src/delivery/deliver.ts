import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager } from '../database/database.ts';
import type { Log } from '../log.ts';
import type { DeliveryMetrics } from '../metrics/delivery-metrics.ts';
import type { Outbox } from '../revisions/outbox.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { toMilliseconds } from '../values/time.ts';
import type { Outcome } from './channel.ts';
import { type Claim, LEASE_SECONDS } from './claim-due.ts';
import { findResultWithoutAttempt, toResult } from './decide-result.ts';
import { describeMessage } from './describe-message.ts';
import type { Loaded } from './load-claimed.ts';
import type { Message } from './message.ts';
import { type Provider, type Providers, recordHealth } from './providers.ts';
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

/** A claimed delivery. `claimedAt` is the time of a monotonic clock in milliseconds, before the lease began. */
export type Claimed = { claim: Claim; loaded: Loaded; claimedAt: number };

const LEASE_MS = LEASE_SECONDS * 1000;

/** Shorter than a lease, so that the result can still be stored. */
const ATTEMPT_MS = 20_000;

/** Time to store a result, and between two tries to do so. */
const STORE_MS = 5000;
const STORE_RETRY_MS = 1000;

/** Delivers a claimed delivery and stores the result. Rejects if the result cannot be stored before the lease expires. */
export async function deliver(options: DeliveryOptions, claimed: Claimed): Promise<void> {
  const { appUrl, transports, providers } = options;
  const { claim, loaded } = claimed;
  const end = findResultWithoutAttempt(claim, loaded);
  const message = describeMessage(claim, loaded, appUrl);
  if (end !== undefined || message === undefined) {
    const isStored = await store(options, claimed, end ?? { kind: 'cancelled', reason: 'settled' });
    if (end?.kind === 'expired') report(options, claim, { kind: 'expired', reason: 'expired' }, isStored);
    return;
  }
  const transport = transports.get(claim.channel);
  const attempt = await transport?.open(loaded);
  if (transport === undefined || attempt === undefined) {
    return finish(options, claimed, { kind: 'retry', reason: 'target_unreadable', providerCode: null });
  }
  // A process that was suspended may have lost its lease.
  if (performance.now() - claimed.claimedAt > LEASE_MS - ATTEMPT_MS - STORE_MS) return;
  const provider = providers.get(claim.channel, claim.provider);
  provider.running += 1;
  const outcome = await run(attempt, claim, message).finally(() => {
    provider.running -= 1;
  });
  recordHealth(provider, transport.isChosenByUsers, claim.userId, outcome);
  await finish(options, claimed, outcome, provider);
}

/** Runs an attempt. One that does not end in time may have been delivered. */
async function run(attempt: Attempt, claim: Claim, message: Message): Promise<Outcome> {
  const finished = new AbortController();
  const timeout = AbortSignal.timeout(ATTEMPT_MS);
  const late: Outcome = { kind: 'retry', reason: 'reply_lost', providerCode: null };
  // A channel that ignores the signal must not hold its slot.
  const deadline = pause(ATTEMPT_MS + 1000, late, { signal: finished.signal });
  try {
    return await Promise.race([attempt(claim, message, timeout), deadline]);
  } finally {
    finished.abort();
    deadline.catch(() => undefined);
  }
}

/** Stores the outcome of an attempt, unless another sender has claimed the delivery, and reports it. */
async function finish(
  options: DeliveryOptions,
  claimed: Claimed,
  outcome: Outcome,
  provider?: Provider,
): Promise<void> {
  const { claim, loaded } = claimed;
  const result = toResult(claim, outcome, provider);
  const isStored = await store(options, claimed, result);
  report(options, claim, outcome, isStored);
  if (!isStored) return;
  if (result.kind === 'failed' && result.reason === 'expired') {
    report(options, claim, { kind: 'expired', reason: 'expired' }, isStored);
  }
  if (outcome.kind === 'delivered' && claim.step === 'message') {
    const seconds = (Date.now() - toMilliseconds(claim.createdAt)) / 1000;
    options.metrics.observeDelay(claim.channel, seconds);
  }
  if (outcome.kind === 'failed' && outcome.suspendTarget) {
    await suspendTarget(options, loaded);
  }
}

/** Logs and counts an attempt, or a delivery that expired. */
function report(
  { log, metrics }: DeliveryOptions,
  { userId, notificationId, channel, step, attempts }: Claim,
  outcome: Outcome | { kind: 'expired'; reason: 'expired' },
  isStored: boolean,
): void {
  const { kind, ...failure } = outcome;
  const { reason, providerCode } = { reason: undefined, providerCode: undefined, ...failure };
  const what = kind === 'expired' ? 'delivery expired' : 'delivery attempt';
  log.info(
    {
      user: userId,
      notification: notificationId,
      channel,
      step,
      attempts,
      outcome: kind,
      reason,
      providerCode,
    },
    isStored ? what : `${what}; the lease was lost and the result is discarded`,
  );
  metrics.countAttempt(channel, reason ?? 'delivered');
}

/** Stores a result. Repeats a failed try until the lease expires, because the message would be sent again otherwise. */
async function store(
  { em, log }: DeliveryOptions,
  { claim, claimedAt }: Claimed,
  result: Result,
): Promise<boolean> {
  for (;;) {
    try {
      return await storeResult(em, claim, result);
    } catch (error) {
      if (performance.now() - claimedAt > LEASE_MS - STORE_MS) throw error;
      log.warn({ err: error }, 'storing the result of a delivery failed; retrying');
      await pause(STORE_RETRY_MS);
    }
  }
}
