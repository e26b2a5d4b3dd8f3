import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { readDevelopmentPublicKeys } from '../config/development-keys.ts';
import type { KeySetSource } from '../config.ts';
import { InternalError } from '../errors/gateway-errors.ts';
import { createFetchedKeys } from './fetched-keys.ts';

/** Finds the public key for a token's header. Rejects with a jose error if none matches. */
export type KeySet = JWTVerifyGetKey<CryptoKey> & {
  /**
   * Returns the seconds since the last successful fetch, undefined if there was none. Only remote key sets define it.
   */
  age?(): number | undefined;
  /**
   * Fetches the keys, at most once per `COOLDOWN_MS`. Returns the error of the latest fetch, undefined if it succeeded;
   * never rejects.
   */
  fetch?(): Promise<unknown>;
  /** Returns the fingerprints of the current keys, fetching them again if they are old. */
  fingerprints?(): Promise<ReadonlySet<string>>;
};

/** Opens the configured key set (RFC 7517). */
export async function openKeySet(source: KeySetSource, dataDir: string): Promise<KeySet> {
  switch (source.kind) {
    case 'remote':
      return createRemoteKeySet(source.url);
    case 'local':
      return createLocalJWKSet(source.jwks);
    case 'development':
      return createLocalJWKSet(await readDevelopmentPublicKeys(dataDir));
  }
}

/** A key set older than this is fetched again in the background. */
const REFRESH_MS = 30_000;

/**
 * A key set older than this is fetched again before it is used, so that removed keys stop working. If fetching failed
 * recently, the old keys remain in use.
 */
export const STALE_MS = 50_000;

/**
 * Creates a key set that is fetched from a URL. While the URL is slow, unreachable or returns invalid data, the last
 * keys remain valid.
 */
function createRemoteKeySet(url: URL): KeySet {
  const { latest, refresh } = createFetchedKeys(url);

  const find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const age = Date.now() - latest.fetchedAt;
    // If fetching failed recently, requests do not wait for the next attempt.
    const hasFailedRecently = Date.now() - latest.failedAt < STALE_MS;
    if (latest.keys === undefined || (age > STALE_MS && !hasFailedRecently)) await refresh();
    else if (age > REFRESH_MS) void refresh();
    // The token may be valid, so this must not be a 401.
    if (latest.keys === undefined) throw new InternalError(latest.failure);
    try {
      return await latest.keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      return latest.keys(header, token);
    }
  };
  return Object.assign(find, {
    age: () => (latest.keys === undefined ? undefined : (Date.now() - latest.fetchedAt) / 1000),
    async fetch() {
      await refresh();
      return latest.failure;
    },
    async fingerprints() {
      if (Date.now() - latest.fetchedAt > REFRESH_MS) await refresh();
      return latest.fingerprints;
    },
  });
}
