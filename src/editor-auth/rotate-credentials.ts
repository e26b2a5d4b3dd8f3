import type { Kysely } from 'kysely';
import { type EntityManager, query, type Tables } from '../database/database.ts';
import type { CredentialCipher } from '../encryption/credential-cipher.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** The number of token pairs that are encrypted with a key. */
export type KeyUse = { keyId: string; count: number };

/** Counts the token pairs that are encrypted with each key other than the current one. */
export async function countByOldKey(em: EntityManager, cipher: CredentialCipher): Promise<KeyUse[]> {
  const rows = await query(em)
    .selectFrom('EditorCredential')
    .select(['keyId', (eb) => eb.fn.countAll<number>().as('count')])
    .where('keyId', '<>', cipher.currentKeyId)
    .groupBy('keyId')
    .orderBy('keyId')
    .execute();
  return rows.map(({ keyId, count }) => ({ keyId: keyId ?? '', count }));
}

/** The result of a batch. */
export type RotatedBatch = {
  /** The number of pairs that were re-encrypted. */
  reencrypted: number;
  /** The users whose pair cannot be decrypted although its key is configured. */
  damaged: readonly string[];
  /** The user ID after which the next batch starts; null after the last batch. */
  next: string | null;
};

/**
 * Re-encrypts token pairs of other keys with the current one, for up to `size` users after a user ID. The pairs and their
 * versions do not change. Skips pairs whose key is missing or that cannot be decrypted.
 */
export async function rotateBatch(
  em: EntityManager,
  cipher: CredentialCipher,
  after: string,
  size: number,
): Promise<RotatedBatch> {
  const users = await findUsersAfter(em, cipher, after, size);
  if (users.length === 0) return { reencrypted: 0, damaged: [], next: null };
  const { reencrypted, damaged } = await query(em)
    .transaction()
    .execute((db) => reencryptOfUsers(db, cipher, users));
  return { reencrypted, damaged, next: users.at(-1) ?? null };
}

async function reencryptOfUsers(
  db: Kysely<Tables>,
  cipher: CredentialCipher,
  users: readonly string[],
): Promise<Pick<RotatedBatch, 'reencrypted' | 'damaged'>> {
  // Pairs that were replaced or rotated while this transaction waited for their lock no longer match.
  const rows = await db
    .selectFrom('EditorCredential')
    .selectAll()
    .where('userId', 'in', users)
    .where('keyId', '<>', cipher.currentKeyId)
    .orderBy('userId')
    .forUpdate()
    .execute();
  const damaged: string[] = [];
  let reencrypted = 0;
  for (const row of rows) {
    if (row.ciphertext === null || row.keyId === null || !cipher.canRead(row.keyId)) continue;
    const ciphertext = await reencrypt(cipher, row.ciphertext, row);
    if (ciphertext === undefined) {
      damaged.push(row.userId);
      continue;
    }
    await replaceCiphertext(db, row.userId, { ciphertext, keyId: cipher.currentKeyId });
    reencrypted += 1;
  }
  return { reencrypted, damaged };
}

async function findUsersAfter(
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

async function reencrypt(
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
