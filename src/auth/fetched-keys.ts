import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { readResponseText } from '../values/response-text.ts';
import { fingerprintsIn } from './fingerprint.ts';

/** Minimum time between two fetches, so that tokens with unknown keys cannot each trigger a fetch. */
export const COOLDOWN_MS = 5000;

const FETCH_TIMEOUT_MS = 5000;

/** Real key sets are much smaller. */
const MAX_BYTES = 1_048_576;

/** The keys of the last successful fetch. Times are in milliseconds since 1970. */
type FetchedKeys = {
  /** Undefined until a fetch succeeds. */
  keys: JWTVerifyGetKey<CryptoKey> | undefined;
  fingerprints: ReadonlySet<string>;
  fetchedAt: number;
  /** The time of the last failure, if no fetch has succeeded since. */
  failedAt: number;
  /** The error of the latest fetch. Undefined if it succeeded. */
  failure: unknown;
};

/** Creates the holder of the key set at a URL, which `refresh` fetches. While fetching fails, the last keys remain. */
export function createFetchedKeys(url: URL): { latest: Readonly<FetchedKeys>; refresh(): Promise<void> } {
  const latest: FetchedKeys = {
    keys: undefined,
    fingerprints: new Set(),
    fetchedAt: Number.NEGATIVE_INFINITY,
    failedAt: Number.NEGATIVE_INFINITY,
    failure: undefined,
  };
  let triedAt = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;

  async function replaceKeys(): Promise<void> {
    triedAt = Date.now();
    try {
      const fetched = await fetchKeys(url);
      latest.keys = createLocalJWKSet(fetched);
      latest.fingerprints = fingerprintsIn(fetched);
      latest.fetchedAt = triedAt;
      latest.failedAt = Number.NEGATIVE_INFINITY;
      latest.failure = undefined;
    } catch (error) {
      latest.failure = error;
      latest.failedAt = Date.now();
    }
  }

  return {
    latest,
    /** Fetches the keys, at most once per {@link COOLDOWN_MS}. Concurrent calls share one fetch. Never rejects. */
    async refresh() {
      if (pending === undefined && Date.now() - triedAt < COOLDOWN_MS) return;
      pending ??= replaceKeys().finally(() => {
        pending = undefined;
      });
      await pending;
    },
  };
}

/** Accepts any kind of key: unsupported keys are ignored when a key is looked up (RFC 7517, section 5). */
const KeySetReply = z.looseObject({ keys: z.array(z.looseObject({})) });

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
  return KeySetReply.parse(JSON.parse(text));
}
