import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { STALE_MS } from './key-set.ts';
import type { Viewer } from './viewer.ts';

const MAX_TOKENS = 10_000;

/**
 * After a key is removed from the key set, its tokens, including cached ones, are rejected within this time, unless the
 * key set cannot be fetched.
 */
const MAX_REVOCATION_MS = 60_000;

/** How long a verified token is accepted without verifying it again. */
const TTL_MS = MAX_REVOCATION_MS - STALE_MS;

/** Verifies a token. */
type Verify = (token: string) => Promise<Viewer>;

/** Verifies tokens and caches the results. */
export type TokenCache = { verify: Verify; readonly size: number };

/**
 * Caches the viewers of verified tokens, at most until the token expires. Keys are hashes, so that no token stays in
 * memory. Rejected tokens are not cached.
 */
export function createTokenCache(verify: Verify): TokenCache {
  const cache = new LRUCache<string, { viewer: Viewer; until: number }>({ max: MAX_TOKENS });
  return {
    get size() {
      return cache.size;
    },
    async verify(token) {
      const key = hash('sha256', token, 'base64');
      const cached = cache.get(key);
      if (cached !== undefined && Date.now() < cached.until) return cached.viewer;
      const viewer = await verify(token);
      cache.set(key, { viewer, until: Math.min(viewer.expiresAt, Date.now() + TTL_MS) });
      return viewer;
    },
  };
}
