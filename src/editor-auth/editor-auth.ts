import { randomUUIDv7 } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { defineRowsOfUserRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import type { OfUsers } from '../database/page.ts';
import { defineListRead, defineRowRead, type ReadParams } from '../database/read.ts';
import { transaction } from '../database/transaction.ts';
import type { CredentialCipher, CredentialOwner, TokenPair } from '../encryption/bound-cipher.ts';
import { InternalError } from '../errors/gateway-errors.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { Source } from '../live/source.ts';
import type { Time } from '../values/time.ts';
import { clearPair, type EncryptedPair, recordFailure, storePair } from './credential-statements.ts';
import type { CredentialFailureReason, EditorAuthMethodType, ReauthReason } from './editor-auth.enums.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/*
 * Terms: A *token pair* consists of an access token and, mostly, a refresh token of an editor subscription. A *credential* is a
 * stored pair, its version and, if the pair no longer works, the reason. The API calls it the editor connection.
 * *Editor auth* is the status of the credential, without the pair.
 */

/** The status of a user's credential, without the token pair. */
export type EditorAuth = {
  userId: string;
  type: EditorAuthMethodType;
  needsReauth: boolean;
  reauthReason: ReauthReason | null;
};

/** A token pair to store, and when its access token expires; null if unknown. */
export type NewPair = TokenPair & Pick<EditorCredential, 'expiresAt'>;

/** A decrypted token pair, its version and, if the user must connect the editor again, the reason. */
export type Credential = NewPair & Pick<EditorCredential, 'version' | 'reauthReason'>;

/** Reads the status of a user's credential. */
export async function readEditorAuth(
  database: Database,
  cipher: CredentialCipher,
  userId: string,
): Promise<EditorAuth> {
  return describeStatus(cipher, userId, await findCredential(database, { userId }));
}

const findCredentials = defineRowsOfUserRead(
  defineListRead((db, { param }: ReadParams<OfUsers>) =>
    db
      .selectFrom('EditorCredential')
      .selectAll()
      .where('userId', '=', sql<string>`any(${param('users')}::text[])`),
  ),
);

/** Does the same. Reads the status of several users by one statement. */
export async function readEditorAuthTogether(
  database: Database,
  cipher: CredentialCipher,
  userId: string,
): Promise<EditorAuth> {
  const [credential] = await findCredentials(database, userId);
  return describeStatus(cipher, userId, credential);
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

/** Stores a token pair with a new version, in place of any other. */
export async function storeCredential(
  { database, announce }: ChangeDependencies,
  cipher: CredentialCipher,
  userId: string,
  pair: NewPair,
  now: Time,
): Promise<EditorAuth> {
  const encrypted = await encryptPair(cipher, userId, pair, now);
  const [stored] = await transaction(database, [userId], (run) => run(storePair, { ...encrypted }));
  if (stored !== undefined) announce({ user: userId, topic: 'editorAuth', revision: stored.revision });
  return describeStatus(cipher, userId, stored);
}

/** Deletes the token pair. */
export async function deleteCredential(
  { database, announce }: ChangeDependencies,
  userId: string,
  now: Time,
): Promise<EditorAuth> {
  const [deleted] = await transaction(database, [userId], (run) => run(clearPair, { userId, now }));
  if (deleted !== undefined) announce({ user: userId, topic: 'editorAuth', revision: deleted.revision });
  return describeNone(userId);
}

/**
 * Records that a token pair no longer works. Changes nothing and returns `applied: false` if the pair is no longer
 * current.
 */
export async function reportFailure(
  { database, announce }: ChangeDependencies,
  cipher: CredentialCipher,
  failure: CredentialOwner & { reason: CredentialFailureReason },
  now: Time,
): Promise<{ applied: boolean; editorAuth: EditorAuth }> {
  const { userId, version, reason } = failure;
  const [changed] = await transaction(database, [userId], (run) =>
    run(recordFailure, { userId, version, reason, now }),
  );
  if (changed !== undefined) announce({ user: userId, topic: 'editorAuth', revision: changed.revision });
  const current = changed ?? (await findCredential(database, { userId }));
  return { applied: changed !== undefined, editorAuth: describeStatus(cipher, userId, current) };
}

/**
 * Reads and decrypts a user's token pair. Returns `null` if none is stored.
 * @throws {InternalError} if the pair cannot be decrypted; the cause names a missing key
 */
export async function readCredential(
  database: Database,
  cipher: CredentialCipher,
  userId: string,
): Promise<Credential | null> {
  const stored = await findCredential(database, { userId });
  if (stored === undefined || stored.ciphertext === null) return null;
  const { version, expiresAt, reauthReason } = stored;
  try {
    return { ...(await cipher.decrypt(stored.ciphertext, stored)), version, expiresAt, reauthReason };
  } catch (error) {
    throw new InternalError(error);
  }
}

/** Finds the row of a user's credential. It has no ciphertext after a deletion. */
export const findCredential = defineRowRead((db, { param }: ReadParams<{ userId: string }>) =>
  db.selectFrom('EditorCredential').selectAll().where('userId', '=', param('userId')),
);

/** Encrypts a token pair with a new version, to which the ciphertext is bound. */
export async function encryptPair(
  cipher: CredentialCipher,
  userId: string,
  { expiresAt, ...pair }: NewPair,
  now: Time,
): Promise<EncryptedPair> {
  const owner = { userId, version: randomUUIDv7() };
  const ciphertext = await cipher.encrypt(pair, owner);
  return { ...owner, ciphertext, keyId: cipher.currentKeyId, expiresAt, now };
}

/** The status of a credential after a change. */
export type EditorAuthEvent = { editorAuth: EditorAuth; revision: number };

/** The events of a user's credential: first the current status, then each status that differs from the last one. */
export function createEditorAuthSource(
  database: Database,
  cipher: CredentialCipher,
  userId: string,
): Source<EditorAuthEvent> {
  let last: EditorAuth | undefined;
  return {
    topic: 'editorAuth',
    // Below the first revision, so that the current status is sent even if there never was a credential.
    getStartRevision: () => -1,
    async read(_after, revisions) {
      const editorAuth = await readEditorAuth(database, cipher, userId);
      const revision = revisions?.editorAuth ?? 0;
      const events = isDeepStrictEqual(editorAuth, last) ? [] : [{ editorAuth, revision }];
      last = editorAuth;
      return { events, seen: revision };
    },
  };
}
