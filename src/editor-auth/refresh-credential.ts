import { hash, timingSafeEqual } from 'node:crypto';
import type { CredentialCipher, CredentialOwner, TokenPair } from '../encryption/bound-cipher.ts';
import { ConflictError, NotFoundError, REDACTED } from '../errors/gateway-errors.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { Time } from '../values/time.ts';
import { changeCredential } from './change-credential.ts';
import { claim, refresh } from './credential-changes.ts';
import { encryptPair, type NewPair } from './editor-auth.ts';
import type { EditorCredential } from './editor-credential.entity.ts';
import { findCredential } from './read-credentials.ts';

/**
 * The result of a claim. `claimedUntil` is the end of the caller's claim if `granted`, otherwise the end of another
 * caller's claim.
 */
export type RefreshClaim = { granted: boolean; claimedUntil: Time };

/**
 * Claims the refresh of a version for `CLAIM_SECONDS`, unless another caller has claimed it. The caller then asks the
 * provider for a new pair. The same `claimId` renews the claim. Storing or deleting a pair ends it.
 * @throws {NotFoundError} if no pair is stored
 * @throws {ConflictError} if `version` is no longer current, or its pair has no refresh token
 */
export async function claimRefresh(
  dependencies: ChangeDependencies,
  cipher: CredentialCipher,
  { userId, version, claimId }: CredentialOwner & { claimId: string },
): Promise<RefreshClaim> {
  // The pair of a version never changes, so it can be read before the claim.
  const found = await findCredential(dependencies.database, userId);
  const pair = found?.version === version ? await tryDecrypt(cipher, found) : undefined;
  if (pair?.refreshToken === null) throw createNotRefreshableError(version);
  const { isChanged, credential } = await changeCredential(dependencies, userId, (state, at) =>
    claim(state, { version, claimId }, at),
  );
  if (credential.keyId === null) throw new NotFoundError();
  if (credential.version !== version || credential.claimedUntil === null)
    throw createStaleVersionError(version);
  return { granted: isChanged, claimedUntil: credential.claimedUntil };
}

/**
 * Stores a refreshed pair if `version` is still current, and returns the new version. A retry of the same refresh
 * returns the version that it stored.
 * @throws {ConflictError} if `version` is no longer current, or nothing is stored
 */
export async function storeRefreshedCredential(
  dependencies: ChangeDependencies,
  cipher: CredentialCipher,
  { userId, version: refreshedFrom, ...pair }: CredentialOwner & NewPair,
): Promise<string> {
  const encrypted = await encryptPair(cipher, userId, pair);
  const { isChanged } = await changeCredential(dependencies, userId, (state) =>
    refresh(state, { ...encrypted, refreshedFrom }),
  );
  if (isChanged) return encrypted.version;
  const current = await findCredential(dependencies.database, userId);
  const found = current?.refreshedFrom === refreshedFrom ? await tryDecrypt(cipher, current) : undefined;
  if (current && found && timingSafeEqual(digest(found), digest(pair))) return current.version;
  throw createStaleVersionError(refreshedFrom);
}

/** Decrypts a stored pair; `undefined` if there is none or it cannot be decrypted. */
async function tryDecrypt(
  cipher: CredentialCipher,
  stored: EditorCredential | undefined,
): Promise<TokenPair | undefined> {
  if (stored === undefined || stored.ciphertext === null) return undefined;
  return cipher.decrypt(stored.ciphertext, stored).catch(() => undefined);
}

/** Hashes a pair, because a comparison in constant time requires equal lengths. */
function digest({ accessToken, refreshToken }: TokenPair): Buffer {
  return hash('sha256', JSON.stringify([accessToken.reveal(), refreshToken?.reveal()]), 'buffer');
}

const createNotRefreshableError = (value: string) =>
  new ConflictError('NOT_REFRESHABLE', 'The token pair has no refresh token.', [
    { path: ['input', 'version'], message: 'must be the version of a pair with a refresh token', value },
  ]);

/** The error repeats the value only if it looks like a version, because it may be a misplaced token. */
function createStaleVersionError(version: string): ConflictError {
  const value = /^([\da-f-]{36}|\d{1,10})$/.test(version) ? version : REDACTED;
  return new ConflictError('STALE_VERSION', 'The version is not current. Read the credential again.', [
    { path: ['input', 'version'], message: 'must be the current version', value },
  ]);
}
