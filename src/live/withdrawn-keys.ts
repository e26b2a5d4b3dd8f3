import type { KeySet } from '../auth/key-set.ts';
import type { Hub } from './hub.ts';

/** Together with the age that a key set may have, a key that left it ends its streams within a minute. */
const EVERY_MS = 20_000;

/** Ends the streams of tokens whose key has left the key set, until it is stopped. */
export function watchKeySet(keySet: KeySet, hub: Hub): { stop(): void } {
  const timer = setInterval(async () => {
    if (hub.size === 0) return;
    const held = await keySet.fingerprints?.();
    if (held !== undefined) hub.withdraw((key) => !held.has(key));
  }, EVERY_MS);
  return { stop: () => clearInterval(timer) };
}
