import { type EntityManager, query } from '../database/database.ts';
import type { CredentialCipher } from './credential-cipher.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** How many pairs lie under a key. */
export type KeyUse = { keyId: string; count: number };

/** The keys other than the current one that pairs lie under. */
export async function olderKeys(em: EntityManager, cipher: CredentialCipher): Promise<KeyUse[]> {
  const rows = await query(em)
    .selectFrom('EditorCredential')
    .select(['keyId', (eb) => eb.fn.countAll<string>().as('count')])
    .where('keyId', '<>', cipher.currentKeyId)
    .groupBy('keyId')
    .orderBy('keyId')
    .execute();
  return rows.map(({ keyId, count }) => ({ keyId: keyId ?? '', count: Number(count) }));
}

/** How many pairs one batch encrypted anew, and the user after whom the next begins; null after the last. */
export type RotatedBatch = { renewed: number; next: string | null };

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
  return em.transactional(async (em) => {
    const rows = await query(em)
      .selectFrom('EditorCredential')
      .selectAll()
      .where('userId', '>', after)
      .where('keyId', '<>', cipher.currentKeyId)
      .orderBy('userId')
      .limit(size)
      .forUpdate()
      .execute();
    let renewed = 0;
    for (const row of rows) {
      const ciphertext = await encryptAnew(cipher, row);
      if (ciphertext === undefined) continue;
      await replaceCiphertext(em, row.userId, { ciphertext, keyId: cipher.currentKeyId });
      renewed += 1;
    }
    return { renewed, next: rows.at(-1)?.userId ?? null };
  });
}

async function encryptAnew(cipher: CredentialCipher, stored: EditorCredential): Promise<string | undefined> {
  if (stored.ciphertext === null) return undefined;
  try {
    return await cipher.encrypt(await cipher.decrypt(stored.ciphertext, stored), stored);
  } catch {
    return undefined;
  }
}

async function replaceCiphertext(
  em: EntityManager,
  userId: string,
  written: Pick<EditorCredential, 'ciphertext' | 'keyId'>,
): Promise<void> {
  await query(em).updateTable('EditorCredential').set(written).where('userId', '=', userId).execute();
}
