import { randomUUIDv7 } from 'node:crypto';
import type { EntityManager } from '../database/database.ts';
import { type Inputs, readOne } from '../database/read.ts';
import type { CredentialCipher, CredentialOwner, TokenPair } from '../encryption/credential-cipher.ts';
import { ConflictError, InternalError, REDACTED } from '../errors/gateway-errors.ts';
import type { Writer } from '../live/announcer.ts';
import { change } from '../revisions/change.ts';
import type { Time } from '../values/time.ts';
import { type Encrypted, refresh, report, store, wipe } from './credential-statements.ts';
import type { EditorAuthType, FailureReason, ReauthReason } from './editor-auth.enums.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** What the account sees of its credential: never the pair. */
export type EditorAuth = {
  userId: string;
  type: EditorAuthType;
  needsReauth: boolean;
  reauthReason: ReauthReason | null;
};

/** The pair and the version that a refreshed one must name. */
export type VersionedPair = TokenPair & { version: string };

/** The state of a user's credential. */
export async function readEditorAuth(
  em: EntityManager,
  cipher: CredentialCipher,
  userId: string,
): Promise<EditorAuth> {
  return describeStatus(cipher, userId, await find(em, { userId }));
}

function describeNone(userId: string): EditorAuth {
  return { userId, type: 'none', needsReauth: false, reauthReason: null };
}

function describeStatus(
  cipher: CredentialCipher,
  userId: string,
  stored: Pick<EditorCredential, 'keyId' | 'reauthReason'> | undefined,
): EditorAuth {
  if (stored === undefined || stored.keyId === null) return describeNone(userId);
  const reauthReason = cipher.canRead(stored.keyId) ? stored.reauthReason : 'credential_unreadable';
  return { userId, type: 'subscription', needsReauth: reauthReason !== null, reauthReason };
}

/** Stores a pair in place of the one before, under a new version. */
export async function storeSubscription(
  { em, announce }: Writer,
  cipher: CredentialCipher,
  userId: string,
  pair: TokenPair,
  now: Time,
): Promise<EditorAuth> {
  const encrypted = await encryptNew(cipher, userId, pair, now);
  const [stored] = await change(em, [userId], (run) => run(store, encrypted));
  if (stored !== undefined) announce({ user: userId, topic: 'editorAuth', revision: stored.reached });
  return describeStatus(cipher, userId, stored);
}

/**
 * Stores a refreshed pair if `version` is still the current one. The same pair sent again returns its version.
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
  const current = await find(em, { userId });
  if (current !== undefined && (await holds(cipher, current, pair))) return current.version;
  throw staleVersion(refreshed);
}

/** Deletes the pair. */
export async function deleteCredential(
  { em, announce }: Writer,
  userId: string,
  now: Time,
): Promise<EditorAuth> {
  const [deleted] = await change(em, [userId], (run) => run(wipe, { userId, now }));
  if (deleted !== undefined) announce({ user: userId, topic: 'editorAuth', revision: deleted.reached });
  return describeNone(userId);
}

/** Notes that a pair no longer works. `applied` is false if it is no longer the current one: nothing changes. */
export async function reportFailure(
  { em, announce }: Writer,
  cipher: CredentialCipher,
  failure: CredentialOwner & { reason: FailureReason },
  now: Time,
): Promise<{ applied: boolean; editorAuth: EditorAuth }> {
  const { userId, version, reason } = failure;
  const [changed] = await change(em, [userId], (run) => run(report, { userId, version, reason, now }));
  if (changed !== undefined) announce({ user: userId, topic: 'editorAuth', revision: changed.reached });
  const current = changed ?? (await find(em, { userId }));
  return { applied: changed !== undefined, editorAuth: describeStatus(cipher, userId, current) };
}

/**
 * Opens a user's pair; null where none is stored.
 * @throws {InternalError} where it cannot be opened; its cause names the key that is missing
 */
export async function readCredential(
  em: EntityManager,
  cipher: CredentialCipher,
  userId: string,
): Promise<VersionedPair | null> {
  const stored = await find(em, { userId });
  if (stored === undefined || stored.ciphertext === null) return null;
  try {
    return { ...(await cipher.decrypt(stored.ciphertext, stored)), version: stored.version };
  } catch (error) {
    throw new InternalError(error);
  }
}

const find = readOne((db, { slot }: Inputs<{ userId: string }>) =>
  db.selectFrom('EditorCredential').selectAll().where('userId', '=', slot('userId')),
);

/** The version is part of what is encrypted, so it is known before. */
async function encryptNew(
  cipher: CredentialCipher,
  userId: string,
  pair: TokenPair,
  now: Time,
): Promise<Encrypted> {
  const owner = { userId, version: randomUUIDv7() };
  return { ...owner, ciphertext: await cipher.encrypt(pair, owner), keyId: cipher.currentKeyId, now };
}

/** Whether a stored pair is this one; false if it cannot be decrypted. */
async function holds(cipher: CredentialCipher, stored: EditorCredential, pair: TokenPair): Promise<boolean> {
  if (stored.ciphertext === null) return false;
  const { accessToken, refreshToken } = pair;
  const found = await cipher.decrypt(stored.ciphertext, stored).catch(() => undefined);
  return (
    found?.accessToken.reveal() === accessToken.reveal() &&
    found.refreshToken.reveal() === refreshToken.reveal()
  );
}

/** Shows the version only if it has the form of one: a caller may have put a token in its place. */
function staleVersion(version: string): ConflictError {
  const value = /^([\da-f-]{36}|\d{1,10})$/.test(version) ? version : REDACTED;
  const fault = { path: ['input', 'version'], message: 'is not the current version', value };
  return new ConflictError('The credential has changed since: read it again.', [fault]);
}
