import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import type { Outbox } from '../live/outbox.ts';
import type { Log } from '../log.ts';
import type { DeliveryMetrics } from '../metrics/delivery-metrics.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { toMilliseconds } from '../values/time.ts';
import type { BoundChannel } from './channel.ts';
import { type Claim, type DeliveryData, LEASE_SECONDS } from './claim.ts';
import { followChangesOf } from './follow-changes.ts';
import { describeMessage, type Message } from './message.ts';
import { type AttemptOutcome, retryLater } from './outcome.ts';
import type { Providers } from './providers.ts';
import {
  type DeliveryResult,
  decideAfterAttempt,
  decideWithoutAttempt,
  endUnsent,
  storeResult,
} from './result.ts';
import { suspendTarget } from './targets.ts';

/** The dependencies of delivering. */
export type DeliveryOptions = {
  database: Database;
  outbox: Outbox;
  channels: ReadonlyMap<DeliveryChannel, BoundChannel>;
  providers: Providers;
  /** The URL of a notification, with `{id}` in place of its ID. */
  appUrl: string | null;
  metrics: DeliveryMetrics;
  log: Log;
};

/** A claimed delivery. `claimedAt` is the time of a monotonic clock in milliseconds, before the lease began. */
export type DeliveryJob = { claim: Claim; data: DeliveryData; claimedAt: number };

const LEASE_MS = LEASE_SECONDS * 1000;

/** Time reserved for storing a result. */
const STORE_MS = 5000;

/** Pause between tries to store a result. */
const STORE_RETRY_MS = 1000;

/**
 * Delivers a claimed delivery, stores the result, and makes the delivery follow what changed meanwhile. Rejects if no result
 * can be stored before the lease expires.
 */
export async function deliver(options: DeliveryOptions, job: DeliveryJob): Promise<void> {
  const stored = await deliverAndStore(options, job);
  // A change since the claim has found the delivery being sent.
  if (stored?.isOpen)
    await followChangesOf(options.database, job.claim).catch((error: unknown) =>
      options.log.warn({ err: error }, 'making a delivery follow changes failed; the next sweep finds it'),
    );
}

/** What was stored of a delivery; `undefined` if another sender has claimed it. */
type Stored = Awaited<ReturnType<typeof storeResult>>;

async function deliverAndStore(options: DeliveryOptions, job: DeliveryJob): Promise<Stored> {
  const result = decideWithoutAttempt(job.claim, job.data);
  if (result !== undefined) return finishWithoutAttempt(options, job, result);
  const { notification, mayBeDelivered } = job.data;
  if (notification === undefined)
    return finishWithoutAttempt(options, job, endUnsent('settled', mayBeDelivered));
  const message = describeMessage(job.claim, notification, options.appUrl);
  const outcome = await attempt(options, job, message);
  return outcome && finish(options, job, outcome);
}

const targetUnreadable = retryLater('target_unreadable', null);
const replyLost = retryLater('reply_lost', null);

async function finishWithoutAttempt(
  options: DeliveryOptions,
  job: DeliveryJob,
  result: DeliveryResult,
): Promise<Stored> {
  const stored = await store(options, job, result);
  if (hasExpired(result)) logAndCount(options, job.claim, expired, stored);
  return stored;
}

const hasExpired = (result: DeliveryResult) => result.kind === 'ended' && result.reason === 'expired';

/** Attempts a delivery and returns the outcome; `undefined` if the lease may expire during an attempt. */
async function attempt(
  { channels, providers }: DeliveryOptions,
  { claim, data, claimedAt }: DeliveryJob,
  message: Message,
): Promise<AttemptOutcome | undefined> {
  const channel = channels.get(claim.channel);
  if (channel === undefined) return targetUnreadable;
  const send = await channel.prepare(data);
  if (send === undefined) return targetUnreadable;
  // A process that was suspended may have lost its lease.
  if (performance.now() - claimedAt > LEASE_MS - channel.attemptMs - STORE_MS) return undefined;
  const outcome = await runWithDeadline(channel.attemptMs, (signal) => send(claim, message, signal));
  return providers(claim.channel, claim.provider).record(claim, outcome, performance.now());
}

/** Runs an attempt. If it does not end in time, returns `reply_lost`, because the message may have been delivered. */
async function runWithDeadline(
  timeoutMs: number,
  send: (signal: AbortSignal) => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const finished = new AbortController();
  // A channel that ignores the signal must not hold its place.
  const deadline = pause(timeoutMs + 1000, replyLost, { signal: finished.signal });
  try {
    return await Promise.race([send(AbortSignal.timeout(timeoutMs)), deadline]);
  } finally {
    finished.abort();
    deadline.catch(() => undefined);
  }
}

/**
 * Finishes an attempt: stores its outcome, unless another sender has claimed the delivery, and suspends a refused
 * target.
 */
async function finish(options: DeliveryOptions, job: DeliveryJob, outcome: AttemptOutcome): Promise<Stored> {
  const { claim, data } = job;
  const result = decideAfterAttempt(claim, data, outcome);
  const stored = await store(options, job, result);
  logAndCount(options, claim, outcome, stored);
  if (stored === undefined) return undefined;
  if (hasExpired(result) && outcome.kind !== 'unwanted') logAndCount(options, claim, expired, stored);
  if (outcome.kind === 'delivered' && claim.step === 'message') {
    const seconds = (Date.now() - toMilliseconds(claim.createdAt)) / 1000;
    options.metrics.observeDelay(claim.channel, seconds);
  }
  if (outcome.kind === 'failed' && outcome.suspendTarget) {
    await suspendTarget(options, data).catch((error: unknown) =>
      options.log.error({ err: error }, 'suspending a refused target failed; its next refusal suspends it'),
    );
  }
  return stored;
}

/** Stores a result. Retries until shortly before the lease expires: a delivery without a stored result is sent again. */
async function store(
  { database, log }: DeliveryOptions,
  { claim, data, claimedAt }: DeliveryJob,
  result: DeliveryResult,
): Promise<Stored> {
  for (;;) {
    try {
      return await storeResult(database.fork(), claim, data.notification, result);
    } catch (error) {
      if (performance.now() - claimedAt > LEASE_MS - STORE_MS) throw error;
      log.warn({ err: error }, 'storing the result of a delivery failed; retrying');
      await pause(STORE_RETRY_MS);
    }
  }
}

/** The outcome of a delivery that expires before another attempt. */
const expired = { kind: 'expired', reason: 'expired' } as const;

/** Logs and counts an attempt, or a delivery that expired. */
function logAndCount(
  { log, metrics }: DeliveryOptions,
  { userId, notificationId, channel, step, attempts }: Claim,
  outcome: AttemptOutcome | typeof expired,
  stored: Stored,
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
    stored ? what : `${what}; the lease was lost and the result is discarded`,
  );
  metrics.countAttempt(channel, reason ?? 'delivered');
}
