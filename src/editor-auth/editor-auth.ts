import { randomUUIDv7 } from 'node:crypto';
import type { EntityManager } from '../database/database.ts';
import { type Inputs, readOne } from '../database/read.ts';
import type { CredentialCipher, CredentialOwner, TokenPair } from '../encryption/credential-cipher.ts';
import { InternalError } from '../errors/gateway-errors.ts';
import type { Writer } from '../live/announcer.ts';
import { change } from '../revisions/change.ts';
import type { Time } from '../values/time.ts';
import { type Encrypted, report, store, wipe } from './credential-statements.ts';
import type { EditorAuthType, FailureReason, ReauthReason } from './editor-auth.enums.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** What the account sees of its credential: never the pair. */
export type EditorAuth = {
  userId: string;
  type: EditorAuthType;
  needsReauth: boolean;
  reauthReason: ReauthReason | null;
};

/** A decrypted pair, its version, and why its user must connect again; null if they need not. */
export type Credential = TokenPair & Pick<EditorCredential, 'version' | 'reauthReason'>;

/** The state of a user's credential. */
export async function readEditorAuth(
  em: EntityManager,
  cipher: CredentialCipher,
  userId: string,
): Promise<EditorAuth> {
  return describeStatus(cipher, userId, await findCredential(em, { userId }));
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
  const current = changed ?? (await findCredential(em, { userId }));
  return { applied: changed !== undefined, editorAuth: describeStatus(cipher, userId, current) };
}

/**
 * Decrypts a user's pair; null if none is stored.
 * @throws {InternalError} if it cannot be decrypted; its cause names the key that is missing
 */
export async function readCredential(
  em: EntityManager,
  cipher: CredentialCipher,
  userId: string,
): Promise<Credential | null> {
  const stored = await findCredential(em, { userId });
  if (stored === undefined || stored.ciphertext === null) return null;
  const { version, reauthReason } = stored;
  try {
    return { ...(await cipher.decrypt(stored.ciphertext, stored)), version, reauthReason };
  } catch (error) {
    throw new InternalError(error);
  }
}

/** The row of a user's credential; it has no ciphertext once deleted. */
export const findCredential = readOne((db, { slot }: Inputs<{ userId: string }>) =>
  db.selectFrom('EditorCredential').selectAll().where('userId', '=', slot('userId')),
);

/** Encrypts a pair under a new version, which is part of what is encrypted. */
export async function encryptNew(
  cipher: CredentialCipher,
  userId: string,
  pair: TokenPair,
  now: Time,
): Promise<Encrypted> {
  const owner = { userId, version: randomUUIDv7() };
  return { ...owner, ciphertext: await cipher.encrypt(pair, owner), keyId: cipher.currentKeyId, now };
}
