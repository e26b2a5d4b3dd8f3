import { type EntityManager, query } from '../database/database.ts';
import type { UserRevision } from './user-revision.entity.ts';

/**
 * Locks a user's row until the transaction ends, so that changes of one user's records happen one after
 * another and revisions follow the order of commit. Call it first in the transaction.
 */
export async function lockUser(em: EntityManager, userId: string): Promise<UserRevision> {
  return query(em)
    .insertInto('UserRevision')
    .values({ userId })
    .onConflict((conflict) => conflict.column('userId').doUpdateSet({ userId }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Writes the revisions that a change has reached; the user must be locked. */
export async function raiseRevision(
  em: EntityManager,
  userId: string,
  reached: Partial<Omit<UserRevision, 'userId'>>,
): Promise<void> {
  await query(em).updateTable('UserRevision').set(reached).where('userId', '=', userId).execute();
}
