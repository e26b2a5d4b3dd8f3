import { type EntityManager, query } from '../database/database.ts';
import { prepared } from '../database/prepared.ts';
import { millisecondsOf } from '../time.ts';
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

const find = prepared<{ userId: string }, UserRevision>((db, { slot }) =>
  db.selectFrom('UserRevision').selectAll().where('userId', '=', slot('userId')),
);

/** The revisions of a user; undefined while nothing of theirs ever changed. */
export async function findRevision(em: EntityManager, userId: string): Promise<UserRevision | undefined> {
  const [revision] = await find(em, { userId });
  return revision;
}

/** Writes the revisions that a change has reached; the user must be locked. */
export async function raiseRevision(
  em: EntityManager,
  userId: string,
  reached: Partial<Pick<UserRevision, 'notifications' | 'workspaces'>>,
): Promise<void> {
  await query(em).updateTable('UserRevision').set(reached).where('userId', '=', userId).execute();
}

/** The entity tag of a user's list (RFC 9110, section 8.8.3): another after every change. */
export async function entityTag(
  em: EntityManager,
  userId: string,
  of: 'notifications' | 'workspaces',
): Promise<string> {
  const state = await findRevision(em, userId);
  return `"${state ? millisecondsOf(state.startedAt) : 0}-${state?.[of] ?? 0}"`;
}
