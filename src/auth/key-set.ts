import { createPublicKey, hash, KeyObject } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type ExportedJWKSCache,
  errors,
  type FetchImplementation,
  type JSONWebKeySet,
  type JWK,
  type JWKSCacheInput,
  type JWTVerifyGetKey,
  jwksCache,
} from 'jose';
import { readDevelopmentPublicKeys } from '../config/development-keys.ts';
import { lacksPublicKey, NO_PUBLIC_KEY } from '../config/formats.ts';
import type { KeySetSource } from '../config.ts';
import { OperatorError } from '../errors/failure.ts';
import { InternalError } from '../errors/gateway-errors.ts';
import type { Log } from '../log.ts';
import { readResponseText } from '../values/response-text.ts';

/** Finds the public key for a token's header. Rejects with a jose error if none matches. */
export type KeySet = JWTVerifyGetKey<CryptoKey> & {
  /** Returns the seconds since the last successful fetch, undefined if none succeeded. Only remote key sets define it. */
  age?(): number | undefined;
  /**
   * Fetches the keys, unless an attempt failed within the last 5 seconds. Returns the error of the latest attempt,
   * undefined if it succeeded; never rejects.
   */
  fetch?(): Promise<unknown>;
  /** Returns the fingerprints of the current keys, fetching them again if they are old; undefined if none were fetched. */
  fingerprints?(): Promise<ReadonlySet<string> | undefined>;
};

/** Opens the configured key set (RFC 7517). */
export async function openKeySet(source: KeySetSource, dataDir: string): Promise<KeySet> {
  if (source.kind === 'remote') return createRemoteKeySet(source.url);
  return createLocalJWKSet(source.kind === 'local' ? source.jwks : await readDevelopmentPublicKeys(dataDir));
}

/** Minimum time from one fetch to the next, so that tokens with unknown keys cannot each trigger a fetch. */
const COOLDOWN_MS = 5000;

const FETCH_TIMEOUT_MS = 5000;

/** Real key sets are much smaller. */
const MAX_BYTES = 1_048_576;

/** A key set older than this is fetched again in the background. */
const REFRESH_MS = 30_000;

/** A key is found for at most this long after its removal from the key set, unless the key set cannot be fetched. */
export const REMOVAL_MS = 50_000;

/** A key set older than this is fetched again before it is used. The age counts from the end of a fetch. */
const STALE_MS = REMOVAL_MS - FETCH_TIMEOUT_MS;

/**
 * Creates a key set that is fetched from a URL. While the URL is slow, unreachable or returns invalid data, the last
 * keys remain valid.
 */
function createRemoteKeySet(url: URL): KeySet {
  const cache: JWKSCacheInput = {};
  /** The keys and time of the last successful fetch, written by jose. */
  const fetched: Readonly<Partial<ExportedJWKSCache>> = cache;
  const noFailure: { at: number; cause: unknown } = { at: Number.NEGATIVE_INFINITY, cause: undefined };
  let failure = noFailure;
  const remote = createRemoteJWKSet(url, {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    // jose rejects every token once the keys have expired and fetching fails; `find` has its own limit.
    cacheMaxAge: Number.POSITIVE_INFINITY,
    [jwksCache]: cache,
    [customFetch]: async (...request) => {
      // jose's cooldown follows a success only, so without this every unknown key would trigger a failing fetch.
      if (Date.now() - failure.at < COOLDOWN_MS) throw new InternalError(failure.cause);
      try {
        const keys = await fetchKeySet(...request);
        // Later, such a set means that all keys were removed.
        if (fetched.jwks === undefined && lacksPublicKey(keys)) {
          throw new OperatorError(`The key set at AUTH_JWKS_URL ${NO_PUBLIC_KEY}.`);
        }
        failure = noFailure;
        return Response.json(keys);
      } catch (cause) {
        failure = { at: Date.now(), cause };
        throw new InternalError(cause);
      }
    },
  });
  const ageMs = () => Date.now() - (fetched.uat ?? Number.POSITIVE_INFINITY);
  const refresh = (): Promise<unknown> => remote.reload().catch(() => failure.cause);

  const find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    // If fetching failed recently, requests do not wait for the next attempt.
    const hasFailedRecently = Date.now() - failure.at < STALE_MS;
    if (ageMs() > STALE_MS && !hasFailedRecently) await refresh();
    else if (ageMs() > REFRESH_MS) void refresh();
    try {
      return await remote(header, token);
    } catch (error) {
      // If there are keys, jose fetched because the token's is unknown. If there are none, the token may be valid, so
      // this must not be a 401.
      if (error instanceof InternalError && fetched.jwks) throw new errors.JWKSNoMatchingKey();
      throw error;
    }
  };
  return Object.assign(find, {
    age: () => (fetched.uat === undefined ? undefined : ageMs() / 1000),
    fetch: refresh,
    async fingerprints() {
      if (ageMs() > REFRESH_MS) await refresh();
      return fetched.jwks && fingerprintsIn(fetched.jwks);
    },
  });
}

/** @throws {Error} if the reply is late, too large, not 200 or not a key set */
async function fetchKeySet(...[url, options]: Parameters<FetchImplementation>): Promise<JSONWebKeySet> {
  const response = await fetch(url, options);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`Fetching the key set returned status ${response.status}.`);
  }
  const text = await readResponseText(response, MAX_BYTES);
  if (text === undefined) throw new Error(`The key set is larger than ${MAX_BYTES} bytes.`);
  // Throws if it is not a key set. jose would find that out too, but after the attempt has counted as a success.
  return createLocalJWKSet(JSON.parse(text)).jwks();
}

/** Longer than the cooldown by a margin, because a timer can fire slightly early by the clock. */
const RETRY_MS = COOLDOWN_MS + 100;

/** Fetches a key set in the background, retrying until it succeeds. Logs the first failure and the recovery. */
export function prefetchKeySet(keySet: KeySet, log: Log): { stop(): void } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const fetchUntilSuccess = async () => {
    let isReported = false;
    while (!signal.aborted && isAwaitingFirstFetch(keySet)) {
      const failure = await keySet.fetch?.();
      if (!isAwaitingFirstFetch(keySet)) break;
      if (!isReported && failure !== undefined) {
        log.warn(
          { err: failure },
          'fetching the key set from AUTH_JWKS_URL failed; the gateway is not ready until it succeeds',
        );
        isReported = true;
      }
      await pause(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    if (isReported && !isAwaitingFirstFetch(keySet)) log.info('fetched the key set from AUTH_JWKS_URL');
  };
  void fetchUntilSuccess();
  return { stop: () => stopping.abort() };
}

/** Whether a key set must be fetched and never was. */
export function isAwaitingFirstFetch({ age }: Pick<KeySet, 'age'>): boolean {
  return age !== undefined && age() === undefined;
}

/** Returns the fingerprint of a public key, which does not depend on how a key set represents it. */
export function fingerprint(key: CryptoKey): string {
  const digest = digests.get(key) ?? digestKey(KeyObject.from(key));
  digests.set(key, digest);
  return digest;
}

const digests = new WeakMap<CryptoKey, string>();

/** Returns the fingerprints of a set's keys. Skips keys that Node.js cannot read: they verify no token. */
function fingerprintsIn({ keys }: JSONWebKeySet): ReadonlySet<string> {
  return new Set(keys.flatMap((key) => fingerprintOfJwk(key) ?? []));
}

function fingerprintOfJwk(key: JWK): string | undefined {
  try {
    return digestKey(createPublicKey({ key, format: 'jwk' }));
  } catch {
    return undefined;
  }
}

function digestKey(key: KeyObject): string {
  return hash('sha256', key.export({ type: 'spki', format: 'der' }), 'base64');
}
