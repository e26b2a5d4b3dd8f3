import type { KeySet } from '../auth/key-set.ts';
import { UnauthenticatedError } from '../errors/gateway-errors.ts';
import type { Hub } from './hub.ts';

/** One timer checks the tokens of all streams for expiry. */
const EXPIRY_CHECK_MS = 1000;

/** The check first refreshes a key set older than 30 seconds, so the streams of a removed key end within a minute. */
const KEY_CHECK_MS = 20_000;

/** Ends streams whose token expires or whose key is removed from the key set, until `stop` is called. */
export function watchTokens(keySet: KeySet, hub: Hub): { stop(): void } {
  const expiryCheck = setInterval(() => {
    const now = Date.now();
    hub.failWhere(({ expiresAt }) =>
      expiresAt <= now ? UnauthenticatedError.invalidToken('the token has expired') : undefined,
    );
  }, EXPIRY_CHECK_MS);
  const keyCheck = setInterval(async () => {
    if (hub.size === 0) return;
    const keys = await keySet.fingerprints?.();
    if (keys === undefined) return;
    hub.failWhere(({ signedBy }) =>
      keys.has(signedBy)
        ? undefined
        : UnauthenticatedError.invalidToken('the key that signed the token was removed from the key set'),
    );
  }, KEY_CHECK_MS);
  return {
    stop() {
      clearInterval(expiryCheck);
      clearInterval(keyCheck);
    },
  };
}
