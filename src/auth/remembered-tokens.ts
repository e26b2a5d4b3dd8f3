import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { STALE_MS } from './key-set.ts';
import type { Viewer } from './viewer.ts';

/** Tokens remembered at most. */
const MOST = 10_000;

/** A key that left its set is out of use within this time, remembered tokens included. */
const WITHDRAWN_WITHIN_MS = 60_000;

/** How long a verified token is taken without verifying it again. */
const REMEMBERED_MS = WITHDRAWN_WITHIN_MS - STALE_MS;

/** Verifies a token. */
type Verify = (token: string) => Promise<Viewer>;

/** Verifies tokens, and knows those that it just did. */
export type RememberedTokens = { verify: Verify; readonly size: number };

/**
 * Remembers who a verified token belongs to, for a short time and never past its expiry. Tokens are remembered by
 * their hash, so that none lies about in memory; refused ones are not remembered.
 */
export function rememberVerified(verify: Verify): RememberedTokens {
  const remembered = new LRUCache<string, { viewer: Viewer; until: number }>({ max: MOST });
  return {
    get size() {
      return remembered.size;
    },
    async verify(token) {
      const key = hash('sha256', token, 'base64');
      const known = remembered.get(key);
      if (known !== undefined && Date.now() < known.until) return known.viewer;
      const viewer = await verify(token);
      remembered.set(key, { viewer, until: Math.min(viewer.expiresAt, Date.now() + REMEMBERED_MS) });
      return viewer;
    },
  };
}
