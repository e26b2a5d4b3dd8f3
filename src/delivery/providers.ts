import { LRUCache } from 'lru-cache';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { AttemptOutcome } from './channel.ts';
import { createProviderHealth, type ProviderHealth } from './provider-health.ts';

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
