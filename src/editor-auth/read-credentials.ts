import { defineRowsOfUserRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import type { CredentialCipher } from '../encryption/bound-cipher.ts';
import { InternalError } from '../errors/gateway-errors.ts';
import { type Credential, describeStatus, type EditorAuth } from './editor-auth.ts';
import { EditorCredential } from './editor-credential.entity.ts';

const findCredentials = defineRowsOfUserRead((database, { users }) =>
  database.fork().find(EditorCredential, { userId: { $in: users } }, { fields: ['keyId', 'reauthReason'] }),
);

/** Reads the status of a user's credential. Concurrent calls become one statement. */
export async function readEditorAuthTogether(
  database: Database,
  cipher: CredentialCipher,
  userId: string,
): Promise<EditorAuth> {
  const [credential] = await findCredentials(database, userId);
  return describeStatus(cipher, userId, credential);
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
  const stored = await findCredential(database, userId);
  if (stored === undefined || stored.ciphertext === null) return null;
  const { version, expiresAt, reauthReason } = stored;
  try {
    return { ...(await cipher.decrypt(stored.ciphertext, stored)), version, expiresAt, reauthReason };
  } catch (error) {
    throw new InternalError(error);
  }
}

/** Finds the row of a user's credential. It has no ciphertext after a deletion. */
export async function findCredential(
  database: Database,
  userId: string,
): Promise<EditorCredential | undefined> {
  return (await database.fork().findOne(EditorCredential, { userId })) ?? undefined;
}
