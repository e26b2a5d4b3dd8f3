import { LRUCache } from 'lru-cache';
import { createProviderHealth, type ProviderHealth } from './provider-health.ts';

/** The maximum number of remembered providers. Users choose their push services, so the number must be limited. */
const MAX_PROVIDERS = 1000;

/** A provider, and the number of messages that are being sent to it. */
type Provider = { readonly health: ProviderHealth; running: number };

/** The health of all providers. Times are of a monotonic clock, in milliseconds. */
export type Providers = {
  get(name: string): Provider;
};

/** Creates the health of all providers, which are up until they fail. */
export function createProviders(): Providers {
  const providers = new LRUCache<string, Provider>({ max: MAX_PROVIDERS });
  return {
    get(name) {
      const provider = providers.get(name) ?? { health: createProviderHealth(), running: 0 };
      providers.set(name, provider);
      return provider;
    },
  };
}
