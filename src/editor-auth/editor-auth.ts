import { type EntityManager, query } from '../database/database.ts';
import { prepared } from '../database/prepared.ts';
import { ConflictError, InternalError } from '../errors.ts';
import type { Time } from '../time.ts';
import type { CredentialCipher, TokenPair } from './credential-cipher.ts';
import type { EditorCredential, ReportableReason } from './editor-credential.entity.ts';

/** Why the user must connect again; closed. */
export const reauthReasons = [
  'token_expired',
  'token_revoked',
  'refresh_failed',
  'credential_unreadable',
] as const;
export type ReauthReason = (typeof reauthReasons)[number];

/** What the account sees of its credential: never the pair. `reason` is null while none is needed. */
export type EditorAuth = {
  type: 'none' | 'subscription';
  needsReauth: boolean;
  reauthReason: ReauthReason | null;
};

/** The pair and the version that a refreshed one must name. */
export type VersionedPair = TokenPair & { version: number };

/** The state of a user's credential. */
export async function readEditorAuth(
  em: EntityManager,
  cipher: CredentialCipher,
  userId: string,
): Promise<EditorAuth> {
  return statusOf(cipher, await find(em, userId));
}

function statusOf(cipher: CredentialCipher, stored: EditorCredential | undefined): EditorAuth {
  if (stored === undefined || stored.keyId === null) {
    return { type: 'none', needsReauth: false, reauthReason: null };
  }
  const reauthReason = cipher.canRead(stored.keyId) ? stored.reauthReason : 'credential_unreadable';
  return { type: 'subscription', needsReauth: reauthReason !== null, reauthReason };
}

/** Stores a pair in place of the one before, under the user's next version. */
export async function storeSubscription(
  em: EntityManager,
  cipher: CredentialCipher,
  userId: string,
  pair: TokenPair,
  now: Time,
): Promise<EditorAuth> {
  return em.transactional(async (em) => {
    const { version } = await query(em)
      .insertInto('EditorCredential')
      .values({ userId, version: 1, createdAt: now, updatedAt: now })
      .onConflict((conflict) =>
        conflict.column('userId').doUpdateSet((eb) => ({ version: eb('EditorCredential.version', '+', 1) })),
      )
      .returning('version')
      .executeTakeFirstOrThrow();
    return statusOf(cipher, await writePair(em, cipher, { userId, version }, pair, now));
  });
}

/**
 * Stores a refreshed pair if `version` is still the current one.
 * @throws {ConflictError} where it is not, or nothing is stored
 */
export async function refreshCredential(
  em: EntityManager,
  cipher: CredentialCipher,
  owner: { userId: string; version: number },
  pair: TokenPair,
  now: Time,
): Promise<number> {
  const { userId, version } = owner;
  return em.transactional(async (em) => {
    const next = await query(em)
      .updateTable('EditorCredential')
      .set((eb) => ({ version: eb('version', '+', 1) }))
      .where('userId', '=', userId)
      .where('version', '=', version)
      .where('ciphertext', 'is not', null)
      .returning('version')
      .executeTakeFirst();
    if (next === undefined) throw staleVersion(version);
    await writePair(em, cipher, { userId, version: next.version }, pair, now);
    return next.version;
  });
}

/** Wipes the pair; the version stays, so that it never means another pair. */
export async function deleteCredential(em: EntityManager, userId: string, now: Time): Promise<void> {
  await query(em)
    .updateTable('EditorCredential')
    .set({ ciphertext: null, keyId: null, reauthReason: null, updatedAt: now })
    .where('userId', '=', userId)
    .where('ciphertext', 'is not', null)
    .execute();
}

/** Notes that a pair no longer works. `applied` is false where it is no longer the current one: nothing changes. */
export async function reportFailure(
  em: EntityManager,
  cipher: CredentialCipher,
  failure: { userId: string; version: number; reason: ReportableReason },
  now: Time,
): Promise<{ applied: boolean; editorAuth: EditorAuth }> {
  const changed = await query(em)
    .updateTable('EditorCredential')
    .set({ reauthReason: failure.reason, updatedAt: now })
    .where('userId', '=', failure.userId)
    .where('version', '=', failure.version)
    .where('ciphertext', 'is not', null)
    .returningAll()
    .executeTakeFirst();
  const current = changed ?? (await find(em, failure.userId));
  return { applied: changed !== undefined, editorAuth: statusOf(cipher, current) };
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
  const stored = await find(em, userId);
  if (stored === undefined || stored.ciphertext === null) return null;
  try {
    return { ...(await cipher.decrypt(stored.ciphertext, stored)), version: stored.version };
  } catch (error) {
    throw new InternalError(error);
  }
}

const stored = prepared<{ userId: string }, EditorCredential>((db, { slot }) =>
  db.selectFrom('EditorCredential').selectAll().where('userId', '=', slot('userId')).limit(1),
);

async function find(em: EntityManager, userId: string): Promise<EditorCredential | undefined> {
  const [credential] = await stored(em, { userId });
  return credential;
}

async function writePair(
  em: EntityManager,
  cipher: CredentialCipher,
  owner: { userId: string; version: number },
  pair: TokenPair,
  now: Time,
): Promise<EditorCredential> {
  const ciphertext = await cipher.encrypt(pair, owner);
  return query(em)
    .updateTable('EditorCredential')
    .set({ ciphertext, keyId: cipher.currentKeyId, reauthReason: null, updatedAt: now })
    .where('userId', '=', owner.userId)
    .returningAll()
    .executeTakeFirstOrThrow();
}

function staleVersion(version: number): ConflictError {
  const fault = { path: ['input', 'version'], message: 'is not the current version', value: version };
  return new ConflictError('The credential has changed since: read it again.', [fault]);
}
