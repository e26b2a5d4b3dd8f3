import { LRUCache } from 'lru-cache';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Claim } from './claim.ts';
import { type AttemptOutcome, type ProviderFailure, rejectTarget } from './outcome.ts';
import { addJitter } from './result.ts';

/** The maximum number of remembered providers, and of users and refused targets that are remembered of each. */
const MAX_REMEMBERED = 1000;

/** How long the outcome of a user's message counts. */
const REPORT_MS = 300_000;

/** The number of users who must report a failure. They must also be half of those who report anything. */
const MIN_FAILING_USERS = 5;

/** A target is suspended after as many refusals in a row, if at least this time is between the first and the last. */
const MIN_REFUSALS = 5;
const MIN_REFUSALS_MS = 600_000;

/** The first pause in milliseconds, before jitter, and the longest. Each pause is twice as long as the one before. */
const whileUnavailable = { first: 1000, max: 60_000 };
const whileMisconfigured = { first: 60_000, max: 300_000 };

/** No pause is longer, whatever the provider replies. */
const MAX_PAUSE_MS = 300_000;

/**
 * Whether a provider accepts messages, in the memory of this process: an SMTP server, the chat API, or the host of push
 * subscriptions. Anybody can have an address that always fails, so only what several users report counts as a failure of
 * the provider. Times are of a monotonic clock, in milliseconds.
 */
export type Provider = {
  /**
   * The maximum number of messages that may be sent at once: `usual` before a pause, 0 during it, then 1 until the
   * provider accepts or permanently rejects a message of a user, which shows that it works.
   */
  limit(usual: number, now: number): number;
  /** Whether the user's last message failed before the current or last pause: another would prove nothing. */
  isSuspect(userId: string): boolean;
  /**
   * Records the outcome of a message, which may pause the provider or end the time after a pause. Returns the outcome,
   * or the refusal of its target if the provider refuses the target repeatedly and accepts other users.
   */
  record(message: Pick<Claim, 'userId' | 'target'>, outcome: AttemptOutcome, now: number): AttemptOutcome;
  /** The end of the current or last pause; undefined before the first pause and after a recovery. */
  readonly pausedUntil: number | undefined;
};

/** Returns the provider of a channel with a name. One that is not used for long may be forgotten. */
export type Providers = (channel: DeliveryChannel, name: string) => Provider;

/** Creates the providers, which count as available until they fail. */
export function createProviders(): Providers {
  const known = new LRUCache<string, Provider>({ max: MAX_REMEMBERED });
  return (channel, name) => {
    const key = `${channel} ${name}`;
    const provider = known.get(key) ?? createProvider();
    known.set(key, provider);
    return provider;
  };
}

/** The last outcome of a user. */
type Report = { at: number; isAccepted: boolean; failure: ProviderFailure | undefined };

/** Refusals of a target in a row, of which the last at `at` was counted. */
type Refusals = { count: number; since: number; at: number };

/** Creates a provider that has not failed yet. */
export function createProvider(random: () => number = Math.random): Provider {
  // Those that changed last come first.
  const reports = new LRUCache<string, Report>({ max: MAX_REMEMBERED });
  const refusals = new LRUCache<string, Refusals>({ max: MAX_REMEMBERED });
  let pausedUntil: number | undefined;
  /** The number of consecutive pauses of the same kind. */
  let pauses = 0;
  let neededOperator = false;

  const isPaused = (now: number) => pausedUntil !== undefined && now < pausedUntil;
  const isFailing = (userId: string) => reports.peek(userId)?.failure !== undefined;

  /** Returns the failure that enough users report; `undefined` if there is none. */
  const findFailure = (now: number): ProviderFailure | undefined => {
    const recent = [...reports.values()].filter(({ at }) => now - at < REPORT_MS);
    const failures = recent.flatMap(({ failure }) => failure ?? []);
    if (failures.length < MIN_FAILING_USERS || failures.length < recent.length / 2) return undefined;
    return {
      needsOperator: failures.every(({ needsOperator }) => needsOperator),
      // No user alone can lengthen the pause of the others.
      retryAfterSeconds: Math.min(...failures.map(({ retryAfterSeconds = 0 }) => retryAfterSeconds)),
    };
  };

  const startPause = ({ needsOperator, retryAfterSeconds = 0 }: ProviderFailure, now: number) => {
    // When the kind changes, the pauses start again with the shortest.
    pauses = needsOperator === neededOperator ? pauses + 1 : 1;
    neededOperator = needsOperator;
    const { first, max } = needsOperator ? whileMisconfigured : whileUnavailable;
    const pause = addJitter(Math.min(first * 2 ** (pauses - 1), max), random);
    pausedUntil = now + Math.min(Math.max(pause, retryAfterSeconds * 1000), MAX_PAUSE_MS);
  };

  const recover = () => {
    pausedUntil = undefined;
    pauses = 0;
    for (const userId of [...reports.keys()]) if (isFailing(userId)) reports.delete(userId);
  };

  /** Counts a refusal only if another user's message was accepted since the last one that was counted. */
  const countRefusal = (target: string, userId: string, now: number): Refusals => {
    const last = refusals.peek(target);
    const hasAcceptedOther = (after: number) =>
      [...reports].some(([user, { at, isAccepted }]) => user !== userId && isAccepted && at > after);
    if (last !== undefined && !hasAcceptedOther(last.at)) return last;
    const next = { count: (last?.count ?? 0) + 1, since: last?.since ?? now, at: now };
    refusals.set(target, next);
    return next;
  };

  return {
    limit(usual, now) {
      if (pausedUntil === undefined) return usual;
      return isPaused(now) ? 0 : 1;
    },
    isSuspect: (userId) => pausedUntil !== undefined && isFailing(userId),
    record({ userId, target }, outcome, now) {
      const isAccepted = outcome.kind === 'delivered' || outcome.kind === 'failed';
      const failure = outcome.kind === 'unavailable' ? outcome : undefined;
      const isSuspect = pausedUntil !== undefined && isFailing(userId);
      reports.set(userId, { at: now, isAccepted, failure });
      if (isAccepted) refusals.delete(target);
      // Messages that were sent before a pause neither end nor extend it.
      if (!isPaused(now)) {
        const common = failure === undefined || isSuspect ? undefined : findFailure(now);
        if (common !== undefined) startPause(common, now);
        else if (isAccepted && pausedUntil !== undefined) recover();
      }
      if (!failure?.needsOperator) return outcome;
      const { count, since } = countRefusal(target, userId, now);
      if (count < MIN_REFUSALS || now - since < MIN_REFUSALS_MS) return outcome;
      refusals.delete(target);
      return rejectTarget(failure.providerCode);
    },
    get pausedUntil() {
      return pausedUntil;
    },
  };
}
