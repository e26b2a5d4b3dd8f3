import { hash, timingSafeEqual } from 'node:crypto';
import type { EntityManager } from '../database/database.ts';
import type { CredentialCipher, CredentialOwner, TokenPair } from '../encryption/credential-cipher.ts';
import { ConflictError, NotFoundError, REDACTED } from '../errors/gateway-errors.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import { change } from '../revisions/change.ts';
import type { Time } from '../values/time.ts';
import { replacePair, tryClaim } from './credential-statements.ts';
import { encryptPair, findCredential } from './editor-auth.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/**
 * The result of a claim. `claimedUntil` is the end of the caller's claim if `granted`, otherwise the end of another
 * caller's claim.
 */
export type RefreshClaim = { granted: boolean; claimedUntil: Time };

/**
 * Claims the refresh of a version for `CLAIM_SECONDS` (credential-statements.ts), unless another caller has claimed it.
 * The caller then asks the provider for a new pair. The same `claimId` renews the claim. Storing or deleting a pair
 * ends it.
 * @throws {NotFoundError} if no pair is stored
 * @throws {ConflictError} if `version` is no longer current
 */
export async function claimRefresh(
  em: EntityManager,
  { userId, version, claimId }: CredentialOwner & { claimId: string },
): Promise<RefreshClaim> {
  const [stored] = await change(em, [userId], (run) => run(tryClaim, { userId, version, claimId }));
  if (stored === undefined) throw new NotFoundError();
  const { granted, claimedUntil } = stored;
  if (claimedUntil === null) throw createStaleVersionError(version);
  return { granted, claimedUntil };
}

/**
 * Stores a refreshed pair if `version` is still current, and returns the new version. A retry of the same refresh
 * returns the version that it stored.
 * @throws {ConflictError} if `version` is no longer current, or nothing is stored
 */
export async function storeRefreshedCredential(
  { em, announce }: ChangeDependencies,
  cipher: CredentialCipher,
  { userId, version: refreshedFrom, ...pair }: CredentialOwner & TokenPair,
  now: Time,
): Promise<string> {
  const encrypted = await encryptPair(cipher, userId, pair, now);
  const [stored] = await change(em, [userId], (run) => run(replacePair, { ...encrypted, refreshedFrom }));
  if (stored !== undefined) {
    announce({ user: userId, topic: 'editorAuth', revision: stored.revision });
    return stored.version;
  }
  const current = await findCredential(em, { userId });
  if (current?.refreshedFrom === refreshedFrom && (await matchesPair(cipher, current, pair)))
    return current.version;
  throw createStaleVersionError(refreshedFrom);
}

/** Whether the stored pair equals another; `false` if it cannot be decrypted. */
async function matchesPair(
  cipher: CredentialCipher,
  stored: EditorCredential,
  pair: TokenPair,
): Promise<boolean> {
  if (stored.ciphertext === null) return false;
  const found = await cipher.decrypt(stored.ciphertext, stored).catch(() => undefined);
  return found !== undefined && timingSafeEqual(digest(found), digest(pair));
}

/** Hashes a pair, because a comparison in constant time requires equal lengths. */
function digest({ accessToken, refreshToken }: TokenPair): Buffer {
  return hash('sha256', JSON.stringify([accessToken.reveal(), refreshToken.reveal()]), 'buffer');
}

/** The error repeats the value only if it looks like a version, because it may be a misplaced token. */
function createStaleVersionError(version: string): ConflictError {
  const value = /^([\da-f-]{36}|\d{1,10})$/.test(version) ? version : REDACTED;
  const issue = { path: ['input', 'version'], message: 'must be the current version', value };
  return new ConflictError('The version is not current. Read the credential again.', [issue]);
}
