import type { Kysely } from 'kysely';
import { type EntityManager, query, type Tables } from '../database/database.ts';
import type { CredentialCipher } from '../encryption/credential-cipher.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** How many pairs lie under a key. */
export type KeyUse = { keyId: string; count: number };

/** The keys other than the current one that pairs lie under. */
export async function olderKeys(em: EntityManager, cipher: CredentialCipher): Promise<KeyUse[]> {
  const rows = await query(em)
    .selectFrom('EditorCredential')
    .select(['keyId', (eb) => eb.fn.countAll<number>().as('count')])
    .where('keyId', '<>', cipher.currentKeyId)
    .groupBy('keyId')
    .orderBy('keyId')
    .execute();
  return rows.map(({ keyId, count }) => ({ keyId: keyId ?? '', count }));
}

/** What became of one batch. */
export type RotatedBatch = {
  /** How many pairs were encrypted anew. */
  renewed: number;
  /** The users whose pair does not open although its key is there. */
  damaged: readonly string[];
  /** The user after whom the next batch begins; null after the last. */
  next: string | null;
};

/**
 * Encrypts pairs that lie under other keys anew, under the current one, for up to `size` users after a user id.
 * Versions stay: it is the same pair. A pair whose key is missing or that does not open is left as it is.
 */
export async function rotateBatch(
  em: EntityManager,
  cipher: CredentialCipher,
  after: string,
  size: number,
): Promise<RotatedBatch> {
  const users = await usersAfter(em, cipher, after, size);
  if (users.length === 0) return { renewed: 0, damaged: [], next: null };
  const { renewed, damaged } = await query(em)
    .transaction()
    .execute((db) => encryptAgain(db, cipher, users));
  return { renewed, damaged, next: users.at(-1) ?? null };
}

async function encryptAgain(
  db: Kysely<Tables>,
  cipher: CredentialCipher,
  users: readonly string[],
): Promise<Pick<RotatedBatch, 'renewed' | 'damaged'>> {
  // Those that were stored anew, or rotated by another run, while this one waited for their lock are no longer found.
  const rows = await db
    .selectFrom('EditorCredential')
    .selectAll()
    .where('userId', 'in', users)
    .where('keyId', '<>', cipher.currentKeyId)
    .orderBy('userId')
    .forUpdate()
    .execute();
  const damaged: string[] = [];
  let renewed = 0;
  for (const row of rows) {
    if (row.ciphertext === null || row.keyId === null || !cipher.canRead(row.keyId)) continue;
    const ciphertext = await encryptAnew(cipher, row.ciphertext, row);
    if (ciphertext === undefined) {
      damaged.push(row.userId);
      continue;
    }
    await replaceCiphertext(db, row.userId, { ciphertext, keyId: cipher.currentKeyId });
    renewed += 1;
  }
  return { renewed, damaged };
}

async function usersAfter(
  em: EntityManager,
  cipher: CredentialCipher,
  after: string,
  size: number,
): Promise<string[]> {
  const rows = await query(em)
    .selectFrom('EditorCredential')
    .select('userId')
    .where('userId', '>', after)
    .where('keyId', '<>', cipher.currentKeyId)
    .orderBy('userId')
    .limit(size)
    .execute();
  return rows.map(({ userId }) => userId);
}

async function encryptAnew(
  cipher: CredentialCipher,
  ciphertext: string,
  owner: EditorCredential,
): Promise<string | undefined> {
  const pair = await cipher.decrypt(ciphertext, owner).catch(() => undefined);
  return pair && cipher.encrypt(pair, owner);
}

async function replaceCiphertext(
  db: Kysely<Tables>,
  userId: string,
  written: Pick<EditorCredential, 'ciphertext' | 'keyId'>,
): Promise<void> {
  await db.updateTable('EditorCredential').set(written).where('userId', '=', userId).execute();
}
