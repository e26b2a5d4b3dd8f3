import { createPublicKey, hash, KeyObject } from 'node:crypto';
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
import type { Config } from '../config.ts';
import { OperatorError } from '../errors/failure.ts';
import { InternalError } from '../errors/gateway-errors.ts';
import type { Log } from '../log.ts';
import { readResponseText } from '../values/response-text.ts';
import { type RejectedKey, selectUsableKeys } from './usable-keys.ts';

/**
 * Finds the public key for a token's header. Rejects with a jose error if none matches, and with an `InternalError` if
 * the keys are unknown. Only remote key sets define the other members.
 */
export type KeySet = JWTVerifyGetKey<CryptoKey> & {
  /** Returns the seconds since the last successful fetch, undefined if none succeeded. */
  age?(): number | undefined;
  /** Returns why no token can be verified; undefined if tokens can be. */
  problem?(): string | undefined;
  /**
   * Fetches the keys if they are old, unless an attempt failed within the last 5 seconds. Returns the error of the latest
   * attempt, undefined if it succeeded; never rejects.
   */
  refresh?(): Promise<unknown>;
  /** Returns the fingerprints of the current keys; undefined if none were fetched. */
  fingerprints?(): ReadonlySet<string> | undefined;
};

/** Opens the configured key set (RFC 7517). Keys that cannot be used are logged and ignored. */
export async function openKeySet(
  {
    keySet: source,
    keySetMaxStaleSeconds,
    dataDir,
  }: Pick<Config, 'keySet' | 'keySetMaxStaleSeconds' | 'dataDir'>,
  log: Log,
): Promise<KeySet> {
  const logRejected = createRejectionLog(log);
  if (source.kind === 'remote') return createRemoteKeySet(source.url, keySetMaxStaleSeconds, logRejected);
  const { keys, rejected } = await selectUsableKeys(
    source.kind === 'local' ? source.jwks : await readDevelopmentPublicKeys(dataDir),
  );
  logRejected(rejected);
  return createLocalJWKSet({ keys });
}

const MAX_LOGGED_KEYS = 10;

/** Logs the rejected keys of each load in one line, unless they are those of the load before. */
function createRejectionLog(log: Log) {
  let last = '[]';
  return (rejected: readonly RejectedKey[]): void => {
    const current = JSON.stringify(rejected);
    if (current !== last && rejected.length > 0) {
      const keys = rejected.slice(0, MAX_LOGGED_KEYS);
      log.warn({ keys, count: rejected.length }, 'keys of the key set cannot be used and are ignored');
    }
    last = current;
  };
}

/** Minimum time from one fetch to the next, so that tokens with unknown keys cannot each trigger a fetch. */
const COOLDOWN_MS = 5000;

const FETCH_TIMEOUT_MS = 5000;

/** Real key sets are much smaller. */
const MAX_BYTES = 1_048_576;

/** A key set older than this is fetched again in the background. */
const REFRESH_MS = 25_000;

/** A key is found for at most this long after its removal from the key set, unless the key set cannot be fetched. */
export const REMOVAL_MS = 50_000;

/** A key set older than this is fetched again before it is used. The age counts from the end of a fetch. */
const STALE_MS = REMOVAL_MS - FETCH_TIMEOUT_MS;

/**
 * Creates a key set that is fetched from a URL. While the URL is slow, unreachable or returns invalid data, the last
 * keys remain valid until they are older than the maximum.
 */
function createRemoteKeySet(
  url: URL,
  maxStaleSeconds: number,
  logRejected: (rejected: readonly RejectedKey[]) => void,
): KeySet {
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
        const given = await fetchKeySet(...request);
        // Later, such a set means that all keys were removed.
        if (fetched.jwks === undefined && lacksPublicKey(given)) {
          throw new OperatorError(`The key set at AUTH_JWKS_URL ${NO_PUBLIC_KEY}.`);
        }
        const { keys, rejected } = await selectUsableKeys(given);
        logRejected(rejected);
        failure = noFailure;
        return Response.json({ keys });
      } catch (cause) {
        failure = { at: Date.now(), cause };
        throw new InternalError(cause);
      }
    },
  });
  const ageMs = () => Date.now() - (fetched.uat ?? Number.POSITIVE_INFINITY);
  const isTooOld = () => ageMs() > maxStaleSeconds * 1000;
  const reload = (): Promise<unknown> => remote.reload().catch(() => failure.cause);

  const find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    // If fetching failed recently, requests do not wait for the next attempt.
    const hasFailedRecently = Date.now() - failure.at < STALE_MS;
    if (ageMs() > STALE_MS && !hasFailedRecently) await reload();
    if (isTooOld())
      throw new InternalError(new OperatorError(`The key set ${TOO_OLD}.`, { cause: failure.cause }));
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
    problem() {
      if (fetched.uat === undefined) return 'was never fetched';
      return isTooOld() ? TOO_OLD : undefined;
    },
    async refresh() {
      const isOld = fetched.uat === undefined || ageMs() > REFRESH_MS;
      return isOld ? reload() : undefined;
    },
    fingerprints: () => fetched.jwks && new Set(fetched.jwks.keys.map(fingerprintOfJwk)),
  });
}

const TOO_OLD = 'is older than AUTH_JWKS_MAX_STALE_SECONDS because fetching AUTH_JWKS_URL fails';

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

/**
 * Keeps a key set current in the background, independent of requests. Logs the first failure of several, and the
 * recovery.
 */
export function keepRefreshing(keySet: KeySet, log: Log): { stop(): void } {
  let isFailing = false;
  const refresh = async () => {
    const failure = await keySet.refresh?.();
    if (failure !== undefined && !isFailing) {
      const effect = keySet.problem?.() === undefined ? 'the last keys are used' : 'the gateway is not ready';
      log.warn(
        { err: failure },
        `fetching the key set from AUTH_JWKS_URL failed; ${effect} until it succeeds`,
      );
    }
    if (failure === undefined && isFailing) log.info('fetched the key set from AUTH_JWKS_URL');
    isFailing = failure !== undefined;
  };
  const timer = setInterval(refresh, RETRY_MS);
  void refresh();
  return { stop: () => clearInterval(timer) };
}

/** Returns the fingerprint of a public key, which does not depend on how a key set represents it. */
export function fingerprint(key: CryptoKey): string {
  const digest = digests.get(key) ?? digestKey(KeyObject.from(key));
  digests.set(key, digest);
  return digest;
}

const digests = new WeakMap<CryptoKey, string>();

function fingerprintOfJwk(key: JWK): string {
  return digestKey(createPublicKey({ key, format: 'jwk' }));
}

function digestKey(key: KeyObject): string {
  return hash('sha256', key.export({ type: 'spki', format: 'der' }), 'base64');
}
