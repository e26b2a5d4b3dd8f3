import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import type { KeySetSource } from '../config.ts';
import { InternalError } from '../errors/gateway-errors.ts';
import { readResponseText } from '../values/response-text.ts';
import { readDevelopmentPublicKeys } from './development-key.ts';
import { fingerprintsIn } from './fingerprint.ts';

/** Finds the public key for a token's header. Rejects with a jose error if none matches. */
export type KeySet = JWTVerifyGetKey<CryptoKey> & {
  /** Returns the seconds since the last successful fetch, undefined if there was none. Only remote key sets define it. */
  age?(): number | undefined;
  /** Fetches the keys, at most once per {@link COOLDOWN_MS}. Returns the last failure; never rejects. */
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

/** Minimum time between two fetches, so that tokens with unknown keys cannot cause more. */
export const COOLDOWN_MS = 5000;

const FETCH_TIMEOUT_MS = 5000;

/** Real key sets are much smaller. */
const MAX_BYTES = 1_048_576;

/**
 * Creates a key set that is fetched from a URL. While the URL is slow, unreachable or returns invalid data, the last
 * keys remain valid.
 */
function createRemoteKeySet(url: URL): KeySet {
  let keys: KeySet | undefined;
  let fingerprints: ReadonlySet<string> = new Set();
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let pending: Promise<void> | undefined;

  const find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const age = Date.now() - fetchedAt;
    if (keys === undefined || (age > STALE_MS && !hasFailedRecently())) await refresh();
    else if (age > REFRESH_MS) void refresh();
    // The token may be valid, so this must not be a 401.
    if (keys === undefined) throw new InternalError(failure);
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      return keys(header, token);
    }
  };
  return Object.assign(find, {
    age: () => (keys === undefined ? undefined : (Date.now() - fetchedAt) / 1000),
    async fetch() {
      await refresh();
      return failure;
    },
    async fingerprints() {
      if (Date.now() - fetchedAt > REFRESH_MS) await refresh();
      return fingerprints;
    },
  });

  /** Whether fetching failed recently; requests then do not wait for the next attempt. */
  function hasFailedRecently(): boolean {
    return Date.now() - failedAt < STALE_MS;
  }

  /** Fetches the key set, at most once per {@link COOLDOWN_MS}. Concurrent calls share one fetch. Never rejects. */
  async function refresh(): Promise<void> {
    if (pending === undefined && Date.now() - triedAt < COOLDOWN_MS) return;
    pending ??= replaceKeys().finally(() => {
      pending = undefined;
    });
    await pending;
  }

  async function replaceKeys(): Promise<void> {
    triedAt = Date.now();
    try {
      const fetched = await fetchKeys(url);
      keys = createLocalJWKSet(fetched);
      fingerprints = fingerprintsIn(fetched);
      fetchedAt = triedAt;
      failedAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      failure = error;
      failedAt = Date.now();
    }
  }
}

/** Accepts any kind of key: unsupported ones are ignored when a key is looked up (RFC 7517, section 5). */
const FetchedKeys = z.looseObject({ keys: z.array(z.looseObject({})) });

/** @throws {Error} if the reply is late, too large, not 200 or not a key set */
async function fetchKeys(url: URL): Promise<JSONWebKeySet> {
  const response = await fetch(url, {
    headers: { Accept: 'application/json, application/jwk-set+json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`Fetching the key set returned status ${response.status}.`);
  }
  const text = await readResponseText(response, MAX_BYTES);
  if (text === undefined) throw new Error(`The key set is larger than ${MAX_BYTES} bytes.`);
  return FetchedKeys.parse(JSON.parse(text));
}
