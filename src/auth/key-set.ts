import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { KeySetSource } from '../config.ts';
import { InternalError } from '../errors.ts';
import { developmentPublicKeys } from './development-key.ts';

/** Finds the public key for a token's header; rejects with a jose error where none fits. */
export type KeySet = JWTVerifyGetKey;

/** The key set of the configuration (RFC 7517). */
export async function openKeySet(source: KeySetSource, dataDir: string): Promise<KeySet> {
  switch (source.kind) {
    case 'remote':
      return remoteKeySet(source.url);
    case 'local':
      return createLocalJWKSet(source.jwks);
    case 'development':
      return createLocalJWKSet(await developmentPublicKeys(dataDir));
  }
}

/** A set of this age is fetched anew in the background. */
const REFRESH_MS = 30_000;

/** A set of this age is fetched anew before it is used, if its address answers: a key that left it is soon gone. */
export const STALE_MS = 50_000;

/** Between two fetches, whatever tokens ask for: nobody can make the gateway fetch at will. */
const COOLDOWN_MS = 5000;

const FETCH_TIMEOUT_MS = 5000;

/** A fetched key set. The keys that it has go on holding while its address is slow, away or answers nonsense. */
function remoteKeySet(url: URL): KeySet {
  const remote = createRemoteJWKSet(url, { timeoutDuration: FETCH_TIMEOUT_MS });
  let keys: KeySet | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let pending: Promise<void> | undefined;

  return async (header, token) => {
    const age = Date.now() - fetchedAt;
    if (age > STALE_MS) await refresh();
    else if (age > REFRESH_MS) void refresh();
    // Not the caller's fault, so never a 401.
    if (keys === undefined) throw new InternalError(failure);
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      return keys(header, token);
    }
  };

  /** Fetches the set unless it was tried just now; of many at once there is one fetch. Never rejects. */
  async function refresh(): Promise<void> {
    if (pending === undefined && Date.now() - triedAt < COOLDOWN_MS) return;
    pending ??= fetchKeys().finally(() => {
      pending = undefined;
    });
    await pending;
  }

  async function fetchKeys(): Promise<void> {
    triedAt = Date.now();
    try {
      await remote.reload();
      const fetched = remote.jwks();
      if (fetched === undefined) return;
      keys = createLocalJWKSet(fetched);
      fetchedAt = triedAt;
    } catch (error) {
      failure = error;
    }
  }
}
