import type { KeySet } from '../auth/key-set.ts';
import { UnauthenticatedError } from '../errors/gateway-errors.ts';
import type { Hub } from './hub.ts';

/** How often expired tokens are looked for: one timer for all streams. */
const EXPIRY_MS = 1000;

/** Together with the age that a key set may have, a key that left it ends its streams within a minute. */
const KEY_SET_MS = 20_000;

/** Ends the streams of tokens that have expired, or whose key has left the key set, until it is stopped. */
export function watchTokens(keySet: KeySet, hub: Hub): { stop(): void } {
  const expiry = setInterval(() => {
    const now = Date.now();
    hub.fail(({ expiresAt }) =>
      expiresAt <= now ? new UnauthenticatedError(true, 'the token has expired') : undefined,
    );
  }, EXPIRY_MS);
  const withdrawal = setInterval(async () => {
    if (hub.size === 0) return;
    const keys = await keySet.fingerprints?.();
    if (keys === undefined) return;
    hub.fail(({ signedBy }) =>
      keys.has(signedBy)
        ? undefined
        : new UnauthenticatedError(true, 'the key that signed the token has left the key set'),
    );
  }, KEY_SET_MS);
  return {
    stop() {
      clearInterval(expiry);
      clearInterval(withdrawal);
    },
  };
}
