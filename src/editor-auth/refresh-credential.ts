import { hash, timingSafeEqual } from 'node:crypto';
import type { EntityManager } from '../database/database.ts';
import type { CredentialCipher, CredentialOwner, TokenPair } from '../encryption/credential-cipher.ts';
import { ConflictError, NotFoundError, REDACTED } from '../errors/gateway-errors.ts';
import type { Writer } from '../live/announcer.ts';
import { change } from '../revisions/change.ts';
import type { Time } from '../values/time.ts';
import { claim, refresh } from './credential-statements.ts';
import { encryptNew, findCredential } from './editor-auth.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** `claimedUntil` is the end of the caller's claim if `granted`, otherwise of the other caller's. */
export type RefreshClaim = { granted: boolean; claimedUntil: Time };

/**
 * Gives one caller the right to refresh a version, for 60 seconds. The same `claimId` gets it again, for another 60
 * seconds. A new pair and a deletion end the claim.
 * @throws {NotFoundError} if no pair is stored
 * @throws {ConflictError} if `version` is no longer current
 */
export async function claimRefresh(
  em: EntityManager,
  { userId, version }: CredentialOwner,
  claimId: string,
): Promise<RefreshClaim> {
  const [stored] = await change(em, [userId], (run) => run(claim, { userId, version, claimId }));
  if (stored === undefined) throw new NotFoundError();
  const { granted, claimedUntil } = stored;
  if (claimedUntil === null) throw staleVersion(version);
  return { granted, claimedUntil };
}

/**
 * Stores a refreshed pair if `version` is still current. The same refresh sent again returns the version that it stored.
 * @throws {ConflictError} if `version` is no longer current, or nothing is stored
 */
export async function refreshCredential(
  { em, announce }: Writer,
  cipher: CredentialCipher,
  owner: CredentialOwner,
  pair: TokenPair,
  now: Time,
): Promise<string> {
  const { userId, version: refreshed } = owner;
  const encrypted = await encryptNew(cipher, userId, pair, now);
  const [stored] = await change(em, [userId], (run) => run(refresh, { refreshed, ...encrypted }));
  if (stored !== undefined) {
    announce({ user: userId, topic: 'editorAuth', revision: stored.reached });
    return stored.version;
  }
  const current = await findCredential(em, { userId });
  if (current?.refreshedFrom === refreshed && (await holds(cipher, current, pair))) return current.version;
  throw staleVersion(refreshed);
}

/** Whether a stored pair is this one; false if it cannot be decrypted. */
async function holds(cipher: CredentialCipher, stored: EditorCredential, pair: TokenPair): Promise<boolean> {
  if (stored.ciphertext === null) return false;
  const found = await cipher.decrypt(stored.ciphertext, stored).catch(() => undefined);
  return found !== undefined && timingSafeEqual(digest(found), digest(pair));
}

/** Digests have one length, as a comparison in constant time needs. */
function digest({ accessToken, refreshToken }: TokenPair): Buffer {
  return hash('sha256', JSON.stringify([accessToken.reveal(), refreshToken.reveal()]), 'buffer');
}

/** Shows the version only if it has the form of one: a caller may have sent a token in its place. */
function staleVersion(version: string): ConflictError {
  const value = /^([\da-f-]{36}|\d{1,10})$/.test(version) ? version : REDACTED;
  const issue = { path: ['input', 'version'], message: 'must be the current version', value };
  return new ConflictError('The version is not current. Read the credential again.', [issue]);
}
