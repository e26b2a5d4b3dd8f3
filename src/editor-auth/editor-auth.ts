import { randomUUIDv7 } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Database } from '../database/database.ts';
import { readRows } from '../database/statement.ts';
import type { CredentialCipher, CredentialOwner, TokenPair } from '../encryption/bound-cipher.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { Source } from '../live/source.ts';
import { changeCredential, findState } from './change-credential.ts';
import { clear, type EncryptedPair, fail, store } from './credential-changes.ts';
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
  const [state] = await readRows(database, findState, { userId });
  return describeStatus(cipher, userId, state);
}

/** Describes the status of a stored credential, or of none. */
export function describeStatus(
  cipher: CredentialCipher,
  userId: string,
  stored: Pick<EditorCredential, 'keyId' | 'reauthReason'> | undefined,
): EditorAuth {
  if (stored === undefined || stored.keyId === null)
    return { userId, type: 'none', needsReauth: false, reauthReason: null };
  const reauthReason = cipher.canRead(stored.keyId) ? stored.reauthReason : 'credential_unreadable';
  return { userId, type: 'subscription', needsReauth: reauthReason !== null, reauthReason };
}

/** Stores a token pair with a new version, in place of any other. */
export async function storeCredential(
  dependencies: ChangeDependencies,
  cipher: CredentialCipher,
  userId: string,
  pair: NewPair,
): Promise<EditorAuth> {
  const encrypted = await encryptPair(cipher, userId, pair);
  const { credential } = await changeCredential(dependencies, userId, () => store(encrypted));
  return describeStatus(cipher, userId, credential);
}

/** Deletes the token pair. */
export async function deleteCredential(
  dependencies: ChangeDependencies,
  cipher: CredentialCipher,
  userId: string,
): Promise<EditorAuth> {
  const { credential } = await changeCredential(dependencies, userId, clear);
  return describeStatus(cipher, userId, credential);
}

/**
 * Records that a token pair no longer works. Changes nothing and returns `applied: false` if the pair is no longer
 * current.
 */
export async function reportFailure(
  dependencies: ChangeDependencies,
  cipher: CredentialCipher,
  { userId, ...failure }: CredentialOwner & { reason: CredentialFailureReason },
): Promise<{ applied: boolean; editorAuth: EditorAuth }> {
  const { isChanged, credential } = await changeCredential(dependencies, userId, (state) =>
    fail(state, failure),
  );
  return { applied: isChanged, editorAuth: describeStatus(cipher, userId, credential) };
}

/** Encrypts a token pair with a new version, to which the ciphertext is bound. */
export async function encryptPair(
  cipher: CredentialCipher,
  userId: string,
  { expiresAt, accessToken, refreshToken }: NewPair,
): Promise<EncryptedPair> {
  const version = randomUUIDv7();
  const ciphertext = await cipher.encrypt({ accessToken, refreshToken }, { userId, version });
  return { version, ciphertext, keyId: cipher.currentKeyId, expiresAt };
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
    isState: true,
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
