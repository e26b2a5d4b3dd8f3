import type { KeySet } from '../auth/key-set.ts';
import { OperatorError } from '../errors/failure.ts';
import { InternalError, UnauthenticatedError } from '../errors/gateway-errors.ts';
import type { Hub } from './hub.ts';

/** One timer checks the tokens of all streams for expiry. */
const EXPIRY_CHECK_MS = 1000;

/** A key set is at most 40 seconds old, so the streams of a removed key end within a minute. */
const KEY_CHECK_MS = 20_000;

/**
 * Ends streams whose token expires or whose key is removed from the key set, and all while the key set is too old, until
 * `stop` is called.
 */
export function watchTokens(keySet: KeySet, hub: Hub): { stop(): void } {
  const expiryCheck = setInterval(() => {
    const now = Date.now();
    hub.failWhere(({ expiresAt }) =>
      expiresAt <= now ? UnauthenticatedError.invalidToken('the token has expired') : undefined,
    );
  }, EXPIRY_CHECK_MS);
  const keyCheck = setInterval(() => {
    const problem = keySet.problem?.();
    if (problem !== undefined) {
      const failure = new InternalError(new OperatorError(`The key set ${problem}.`));
      return hub.failWhere(() => failure);
    }
    const keys = keySet.fingerprints?.();
    hub.failWhere(({ signedBy }) =>
      keys === undefined || keys.has(signedBy)
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
