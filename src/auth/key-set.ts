import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import type { KeySetSource } from '../config.ts';
import { InternalError } from '../errors/gateway-errors.ts';
import { developmentPublicKeys } from './development-key.ts';
import { fingerprintsIn } from './fingerprint.ts';

/** Finds the public key for a token's header; rejects with a jose error where none fits. */
export type KeySet = JWTVerifyGetKey<CryptoKey> & {
  /** Seconds since the keys were fetched; undefined where they never were, and for keys that are not fetched. */
  age?(): number | undefined;
  /** Fetches the keys unless that was tried just now, and returns the last failure. Never rejects. */
  fetch?(): Promise<unknown>;
  /** Fingerprints of the keys of the set, fetched again if they are old; undefined for keys that are not fetched. */
  fingerprints?(): Promise<ReadonlySet<string>>;
};

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

/** A set of this age is fetched anew before it is used, unless its address failed of late: a key that left it is soon gone. */
export const STALE_MS = 50_000;

/** Between two fetches, whatever tokens ask for: nobody can make the gateway fetch at will. */
export const COOLDOWN_MS = 5000;

const FETCH_TIMEOUT_MS = 5000;

/** Far more than any issuer publishes. */
const MAX_BYTES = 1_048_576;

/** A fetched key set. The keys that it has go on holding while its address is slow, away or answers nonsense. */
function remoteKeySet(url: URL): KeySet {
  let keys: KeySet | undefined;
  let fingerprints: ReadonlySet<string> = new Set();
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let pending: Promise<void> | undefined;

  const find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const age = Date.now() - fetchedAt;
    if (keys === undefined || (age > STALE_MS && !isAway())) await refresh();
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

  /** Whether the address failed of late: then nobody waits for it, it is asked in the background. */
  function isAway(): boolean {
    return Date.now() - failedAt < STALE_MS;
  }

  /** Fetches the set unless it was tried just now; of many at once there is one fetch. Never rejects. */
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

/** Keys of a kind that nobody can use are skipped when one is looked for (RFC 7517, section 5). */
const FetchedKeys = z.looseObject({ keys: z.array(z.looseObject({})) });

/** @throws {Error} for anything but a reply of 200 with a key set of a bounded size, in bounded time */
async function fetchKeys(url: URL): Promise<JSONWebKeySet> {
  const response = await fetch(url, {
    headers: { Accept: 'application/json, application/jwk-set+json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The key set was answered with ${response.status}.`);
  }
  let size = 0;
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error(`The key set is larger than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return FetchedKeys.parse(JSON.parse(Buffer.concat(chunks).toString()));
}
