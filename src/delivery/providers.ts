import { LRUCache } from 'lru-cache';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { ChannelLimits } from './channel.ts';
import type { ChannelCapacity, ProviderCapacity } from './claim.ts';
import type { AttemptOutcome } from './outcome.ts';
import { addJitter } from './result.ts';

/** The maximum number of remembered providers. Users choose their push services, so the number must be limited. */
const MAX_PROVIDERS = 1000;

/** The number of consecutive failures after which a provider is paused. */
const MIN_FAILURES = 3;

/** The state of a provider, in the memory of this process. */
export type ProviderState = {
  readonly channel: DeliveryChannel;
  readonly name: string;
  readonly health: ProviderHealth;
  /** The number of messages that are being prepared or sent. */
  running: number;
  /**
   * The last user whose message was refused with `needsOperator`, until a message is delivered or permanently rejected.
   */
  refusedUser: string | undefined;
};

/** The states of the providers of all channels. */
export type Providers = {
  get(channel: DeliveryChannel, name: string): ProviderState;
  /** Lists providers whose capacity is reduced: in use, paused, or recovering. */
  listWithReducedCapacity(): ProviderState[];
};

/** Creates the states of providers, which count as available until they fail. */
export function createProviders(): Providers {
  const providers = new LRUCache<string, ProviderState>({ max: MAX_PROVIDERS });
  return {
    get(channel, name) {
      const key = `${channel} ${name}`;
      const provider = providers.get(key) ?? {
        channel,
        name,
        health: createProviderHealth(MIN_FAILURES),
        running: 0,
        refusedUser: undefined,
      };
      providers.set(key, provider);
      return provider;
    },
    listWithReducedCapacity: () =>
      [...providers.values()].filter(
        ({ running, health }) => running > 0 || health.pausedUntil !== undefined,
      ),
  };
}

/** Lists the channels that can send more messages. */
export function listFreeChannels(
  channels: ReadonlyMap<DeliveryChannel, ChannelLimits>,
  countRunning: (channel: DeliveryChannel) => number,
): ChannelCapacity[] {
  return Array.from(channels, ([channel, { concurrency, concurrencyPerProvider }]) => ({
    channel,
    free: concurrency - countRunning(channel),
    freePerProvider: concurrencyPerProvider,
  })).filter(({ free }) => free > 0);
}

/** Lists how many messages can be sent to the providers whose capacity is reduced. */
export function listReducedCapacities(
  providers: Providers,
  channels: ReadonlyMap<DeliveryChannel, ChannelLimits>,
): ProviderCapacity[] {
  const now = performance.now();
  return providers.listWithReducedCapacity().map(({ channel, name, health, running }) => {
    const unused = (channels.get(channel)?.concurrencyPerProvider ?? 0) - running;
    return { channel, name, free: Math.max(0, Math.min(unused, health.countAllowed(now, running))) };
  });
}

/**
 * Records whether a provider works. If users choose the provider, refusals pause it only once two different users are
 * refused in a row, because one user can register a subscription that is always refused.
 */
export function recordHealth(
  provider: ProviderState,
  isChosenByUsers: boolean,
  userId: string,
  outcome: AttemptOutcome,
): void {
  const { health, refusedUser } = provider;
  const now = performance.now();
  if (outcome.kind === 'delivered' || outcome.kind === 'failed') {
    health.recordSuccess(now);
    provider.refusedUser = undefined;
  } else if (outcome.kind === 'unavailable') {
    if (outcome.needsOperator) provider.refusedUser = userId;
    const isOnlyUser = refusedUser === undefined || refusedUser === userId;
    if (!(outcome.needsOperator && isChosenByUsers && isOnlyUser)) health.recordFailure(outcome, now);
  }
}

/** The first and the longest pause in milliseconds, before jitter. Each pause is twice as long as the one before. */
type Pauses = { readonly first: number; readonly max: number };

const whileUnavailable: Pauses = { first: 1000, max: 60_000 };
const whileMisconfigured: Pauses = { first: 60_000, max: 600_000 };

/** A failure of the provider as a whole. */
type ProviderFailure = { needsOperator: boolean; retryAfterSeconds?: number | undefined };

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
 * paused only after `minFailures` consecutive failures, because a busy provider fails occasionally.
 */
export function createProviderHealth(
  minFailures: number,
  random: () => number = Math.random,
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
      pausedUntil = Math.max(pausedUntil ?? 0, now + Math.max(pause, least));
    },
    get pausedUntil() {
      return pausedUntil;
    },
  };
}
