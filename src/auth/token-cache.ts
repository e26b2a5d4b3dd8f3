import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { STALE_MS } from './key-set.ts';
import type { Viewer } from './viewer.ts';

const MAX_TOKENS = 10_000;

/** A key that left its set is out of use within this time, for cached tokens too. */
const WITHDRAWN_WITHIN_MS = 60_000;

/** How long a verified token is accepted without verifying it again. */
const CACHED_MS = WITHDRAWN_WITHIN_MS - STALE_MS;

/** Verifies a token. */
type Verify = (token: string) => Promise<Viewer>;

/** Verifies tokens, and caches the result. */
export type TokenCache = { verify: Verify; readonly size: number };

/**
 * Caches the viewer of a verified token, for a short time and never past its expiry. The key is the token's hash, so
 * that no token stays in memory; rejected ones are not cached.
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
      cache.set(key, { viewer, until: Math.min(viewer.expiresAt, Date.now() + CACHED_MS) });
      return viewer;
    },
  };
}
