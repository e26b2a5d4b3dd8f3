import type { EntityManager } from '@mikro-orm/postgresql';
import { type Kysely, sql } from 'kysely';
import { getKysely, type Tables } from '../database/database.ts';
import type { BoundCipher } from './bound-cipher.ts';

/** A table of ciphertexts. A ciphertext is bound to its user and to the value of one more column. */
export type EncryptedTable = {
  readonly entity: 'EditorCredential' | 'PushSubscription';
  readonly boundColumn: 'version' | 'id';
  readonly currentKeyId: string;
  canRead(keyId: string): boolean;
  reencrypt(ciphertext: string, userId: string, bound: string): Promise<string>;
};

/** Describes a table, from its cipher. `toOwner` creates the owner of a row's ciphertext. */
export function describeTable<Content, Owner>(
  entity: EncryptedTable['entity'],
  boundColumn: EncryptedTable['boundColumn'],
  cipher: BoundCipher<Content, Owner>,
  toOwner: (userId: string, bound: string) => Owner,
): EncryptedTable {
  return {
    entity,
    boundColumn,
    currentKeyId: cipher.currentKeyId,
    canRead: cipher.canRead,
    async reencrypt(ciphertext, userId, bound) {
      const owner = toOwner(userId, bound);
      return cipher.encrypt(await cipher.decrypt(ciphertext, owner), owner);
    },
  };
}

/** The number of ciphertexts encrypted with a key. */
export type KeyUse = { keyId: string; count: number };

/** Counts the ciphertexts of each key except the current key. */
export async function countByOldKey(
  em: EntityManager,
  { entity, currentKeyId }: EncryptedTable,
): Promise<KeyUse[]> {
  const rows = await getKysely(em)
    .selectFrom(entity)
    .select(['keyId', (eb) => eb.fn.countAll<number>().as('count')])
    .where('keyId', '<>', currentKeyId)
    .groupBy('keyId')
    .orderBy('keyId')
    .execute();
  return rows.map(({ keyId, count }) => ({ keyId: keyId ?? '', count }));
}

/** The result of a batch. */
export type RotatedBatch = {
  /** The number of ciphertexts that were replaced. */
  reencrypted: number;
  /** The users with a ciphertext that cannot be decrypted although its key is configured. */
  damaged: readonly string[];
  /** The user ID after which the next batch starts; null after the last batch. */
  next: string | null;
};

/**
 * Re-encrypts with the current key what other keys encrypted, for up to `size` users whose IDs follow `after`. Other
 * columns do not change. Skips ciphertexts whose key is missing or that cannot be decrypted.
 */
export async function rotateBatch(
  em: EntityManager,
  table: EncryptedTable,
  after: string,
  size: number,
): Promise<RotatedBatch> {
  const users = await findUsersAfter(em, table, after, size);
  if (users.length === 0) return { reencrypted: 0, damaged: [], next: null };
  const { reencrypted, damaged } = await em.transactional((inner) =>
    reencryptForUsers(getKysely(inner), table, users),
  );
  return { reencrypted, damaged, next: users.at(-1) ?? null };
}

async function reencryptForUsers(
  db: Kysely<Tables>,
  table: EncryptedTable,
  users: readonly string[],
): Promise<Pick<RotatedBatch, 'reencrypted' | 'damaged'>> {
  const damaged = new Set<string>();
  let reencrypted = 0;
  for (const { userId, bound, ciphertext, keyId } of await lockRows(db, table, users)) {
    if (ciphertext === null || keyId === null || !table.canRead(keyId)) continue;
    const replacement = await table.reencrypt(ciphertext, userId, bound).catch(() => undefined);
    if (replacement === undefined) {
      damaged.add(userId);
      continue;
    }
    await replaceCiphertext(db, table, userId, ciphertext, replacement);
    reencrypted += 1;
  }
  return { reencrypted, damaged: [...damaged] };
}

/** Locks and returns the rows. Skips rows that are re-encrypted or deleted while it waits for their lock. */
function lockRows(db: Kysely<Tables>, table: EncryptedTable, users: readonly string[]) {
  return db
    .selectFrom(table.entity)
    .select(['userId', 'ciphertext', 'keyId', sql.ref<string>(table.boundColumn).as('bound')])
    .where('userId', 'in', users)
    .where('keyId', '<>', table.currentKeyId)
    .orderBy('userId')
    .orderBy('bound')
    .forUpdate()
    .execute();
}

async function findUsersAfter(
  em: EntityManager,
  { entity, currentKeyId }: EncryptedTable,
  after: string,
  size: number,
): Promise<string[]> {
  const rows = await getKysely(em)
    .selectFrom(entity)
    .select('userId')
    .distinct()
    .where('userId', '>', after)
    .where('keyId', '<>', currentKeyId)
    .orderBy('userId')
    .limit(size)
    .execute();
  return rows.map(({ userId }) => userId);
}

/** Identifies the row by its ciphertext, which is random. */
async function replaceCiphertext(
  db: Kysely<Tables>,
  { entity, currentKeyId }: EncryptedTable,
  userId: string,
  old: string,
  ciphertext: string,
): Promise<void> {
  await db
    .updateTable(entity)
    .set({ ciphertext, keyId: currentKeyId })
    .where('userId', '=', userId)
    .where('ciphertext', '=', old)
    .execute();
}
