import { createPublicKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { POINT_LENGTH } from './message-encryption.ts';

/** Push services reject tokens that are valid for more than 24 hours (RFC 8292, section 2). */
const TOKEN_SECONDS = 12 * 3600;

/** Tokens are used for a part of their lifetime, so that the clocks of push services may differ. */
const REUSE_MS = 3_600_000;

/** Limited, because users choose the origins. */
const MAX_CACHED_TOKENS = 1000;

/** Returns the public key that browsers subscribe with: an uncompressed point, base64url. */
export function formatPublicKey(privateKey: KeyObject): string {
  // The point is the last part of the structure.
  const structure = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return structure.toString('base64url', structure.length - POINT_LENGTH);
}

/** Creates the function that returns the `Authorization` header for the origin of a push service (RFC 8292). */
export function createAuthorize(privateKey: KeyObject, subject: string) {
  const publicKey = formatPublicKey(privateKey);
  const headers = new LRUCache<string, string>({ max: MAX_CACHED_TOKENS, ttl: REUSE_MS });
  return async (origin: string): Promise<string> => {
    const cached = headers.get(origin);
    if (cached !== undefined) return cached;
    const token = await new SignJWT()
      .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
      .setAudience(origin)
      .setSubject(subject)
      .setExpirationTime(Math.floor(Date.now() / 1000) + TOKEN_SECONDS)
      .sign(privateKey);
    const header = `vapid t=${token}, k=${publicKey}`;
    headers.set(origin, header);
    return header;
  };
}
