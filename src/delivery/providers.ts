import { LRUCache } from 'lru-cache';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { ChannelLimits } from './channel.ts';
import type { ChannelCapacity, Claim, ProviderCapacity } from './claim.ts';
import { createUserReports, type UserReports } from './host-reports.ts';
import type { AttemptOutcome, ProviderFailure } from './outcome.ts';
import { addJitter } from './result.ts';

/** The maximum number of remembered providers that users choose. */
const MAX_CHOSEN_PROVIDERS = 1000;

/** The number of consecutive failures after which a provider that the operator chooses is paused. */
const MIN_FAILURES = 3;

/** A provider that users choose is paused for at most as long, whatever it replies. */
const MAX_CHOSEN_PAUSE_MS = 300_000;

/** The state of a provider, in the memory of this process. */
export type ProviderState = {
  readonly channel: DeliveryChannel;
  readonly name: string;
  readonly health: ProviderHealth;
  /** The outcomes of several users, which together decide whether a provider that users choose is paused. */
  readonly reports: UserReports | undefined;
  /** The number of messages that are being prepared or sent. */
  running: number;
};

/** The states of the providers of all channels. */
export type Providers = {
  get(channel: DeliveryChannel, name: string): ProviderState;
  /** Lists providers whose capacity is reduced: in use, paused, or recovering. */
  listWithReducedCapacity(): ProviderState[];
};

/** Creates the states of providers, which count as available until they fail. */
export function createProviders(channels: ReadonlyMap<DeliveryChannel, ChannelLimits>): Providers {
  const configured = new Map<string, ProviderState>();
  const chosen = new LRUCache<string, ProviderState>({ max: MAX_CHOSEN_PROVIDERS });
  const isReduced = ({ running, health }: ProviderState) => running > 0 || health.pausedUntil !== undefined;
  return {
    get(channel, name) {
      const isChosen = channels.get(channel)?.isProviderChosenByUsers ?? false;
      const known = isChosen ? chosen : configured;
      const key = `${channel} ${name}`;
      const provider = known.get(key) ?? {
        channel,
        name,
        health: isChosen
          ? createProviderHealth(1, Math.random, MAX_CHOSEN_PAUSE_MS)
          : createProviderHealth(MIN_FAILURES),
        reports: isChosen ? createUserReports() : undefined,
        running: 0,
      };
      known.set(key, provider);
      return provider;
    },
    listWithReducedCapacity() {
      const reduced = [...chosen.entries()].filter(([, provider]) => isReduced(provider));
      // Used last, so that other providers are forgotten first.
      for (const [key] of reduced) chosen.get(key);
      return [...configured.values()].filter(isReduced).concat(reduced.map(([, provider]) => provider));
    },
  };
}

/** Lists the channels that can send more messages. */
export function listFreeChannels(
  channels: ReadonlyMap<DeliveryChannel, ChannelLimits>,
  countRunning: (channel: DeliveryChannel) => number,
): ChannelCapacity[] {
  return Array.from(channels, ([channel, limits]) => ({
    channel,
    free: limits.concurrency - countRunning(channel),
    freePerProvider: limits.concurrencyPerProvider,
    perUser: limits.concurrencyPerUser,
  })).filter(({ free }) => free > 0);
}

/** Lists how many messages can be sent to the providers whose capacity is reduced. */
export function listReducedCapacities(
  providers: Providers,
  channels: ReadonlyMap<DeliveryChannel, ChannelLimits>,
): ProviderCapacity[] {
  const now = performance.now();
  return providers.listWithReducedCapacity().map(({ channel, name, health, running, reports }) => {
    const unused = (channels.get(channel)?.concurrencyPerProvider ?? 0) - running;
    const isRecovering = health.pausedUntil !== undefined;
    return {
      channel,
      provider: name,
      free: Math.max(0, Math.min(unused, health.countAllowed(now, running))),
      failing: (isRecovering && reports?.listFailing()) || [],
    };
  });
}

/**
 * Records whether a provider works. Returns the outcome of the message, or the refusal of its target if that is refused
 * repeatedly. If the operator chooses the provider, the failure of one message may pause it. If users choose it, one
 * user can register a subscription that always fails, so that only the failures of several users pause it.
 */
export function recordOutcome(
  { health, reports }: ProviderState,
  claim: Pick<Claim, 'userId' | 'target'>,
  outcome: AttemptOutcome,
  now = performance.now(),
): AttemptOutcome {
  const failure = outcome.kind === 'unavailable' ? outcome : undefined;
  const { pausedUntil } = health;
  if (outcome.kind === 'delivered' || outcome.kind === 'failed') health.recordSuccess(now);
  if (reports === undefined) {
    if (failure !== undefined) health.recordFailure(failure, now);
    return outcome;
  }
  // A user who failed before the pause proves nothing about the others.
  const wasFailing = pausedUntil !== undefined && reports.isFailing(claim.userId);
  const result = reports.record(claim, outcome, now);
  if (pausedUntil !== undefined && health.pausedUntil === undefined) reports.forgetFailures();
  // Messages that were sent before a pause must not extend it.
  const isPaused = pausedUntil !== undefined && now < pausedUntil;
  const common = failure === undefined || wasFailing || isPaused ? undefined : reports.findFailure(now);
  if (common !== undefined) health.recordFailure(common, now);
  return result;
}

/** The first and the longest pause in milliseconds, before jitter. Each pause is twice as long as the one before. */
type Pauses = { readonly first: number; readonly max: number };

const whileUnavailable: Pauses = { first: 1000, max: 60_000 };
const whileMisconfigured: Pauses = { first: 60_000, max: 600_000 };

/** Whether a provider accepts messages. `now` is the time of a monotonic clock in milliseconds. */
export type ProviderHealth = {
  /**
   * Returns how many more messages may be sent: any number before a pause, 0 during it, then one at a time until the
   * provider accepts or permanently rejects a message, which shows that it works. `running` is the number of messages
   * that are being prepared or sent.
   */
  countAllowed(now: number, running: number): number;
  /** Records that the provider works, which resets the failures unless a pause is running. */
  recordSuccess(now: number): void;
  /**
   * Records a failure, which may pause the provider. A failure during a pause may extend it, but does not double it.
   */
  recordFailure(failure: ProviderFailure, now: number): void;
  /** The end of the current or last pause; undefined before the first pause and after a recovery. */
  readonly pausedUntil: number | undefined;
};

/**
 * Creates the health of a provider that has not failed yet. Without `needsOperator` or `retryAfterSeconds`, it is
 * paused only after `minFailures` consecutive failures, because a busy provider fails occasionally. `maxPauseMs` also limits the pauses for `retryAfterSeconds`.
 */
export function createProviderHealth(
  minFailures: number,
  random: () => number = Math.random,
  maxPauseMs = Number.POSITIVE_INFINITY,
): ProviderHealth {
  /** Failures since the last success, and the consecutive pauses of the same kind, each twice as long as the last. */
  let failures = 0;
  let pauses = 0;
  let pausedUntil: number | undefined;
  let needsOperator = false;
  const isPaused = (now: number) => pausedUntil !== undefined && now < pausedUntil;

  return {
    countAllowed(now, running) {
      if (pausedUntil === undefined) return Number.POSITIVE_INFINITY;
      return isPaused(now) || running > 0 ? 0 : 1;
    },
    recordSuccess(now) {
      if (isPaused(now)) return;
      failures = 0;
      pauses = 0;
      pausedUntil = undefined;
      needsOperator = false;
    },
    recordFailure(failure, now) {
      failures += 1;
      const isCertain = failure.needsOperator || failure.retryAfterSeconds !== undefined;
      if (pausedUntil === undefined && !isCertain && failures < minFailures) return;
      const wasPaused = isPaused(now);
      const neededOperator = needsOperator;
      // During a pause that needs an operator, a message that was sent earlier may fail for another reason. The pause
      // still needs an operator.
      needsOperator = failure.needsOperator || (wasPaused && neededOperator);
      // When the kind changes, the pauses start again with the shortest.
      if (needsOperator !== neededOperator) pauses = 0;
      if (pauses === 0 || !wasPaused) pauses += 1;
      const { first, max } = needsOperator ? whileMisconfigured : whileUnavailable;
      const pause = addJitter(Math.min(first * 2 ** (pauses - 1), max), random);
      const least = (failure.retryAfterSeconds ?? 0) * 1000;
      pausedUntil = Math.max(pausedUntil ?? 0, now + Math.min(Math.max(pause, least), maxPauseMs));
    },
    get pausedUntil() {
      return pausedUntil;
    },
  };
}
