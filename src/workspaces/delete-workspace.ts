import type { EntityManager } from '@mikro-orm/postgresql';
import { getKysely } from '../database/database.ts';
import { userTransaction } from '../database/transaction.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { Time } from '../values/time.ts';
import { Workspace, WorkspaceDeletion } from './workspace.entity.ts';

/**
 * Deletes a workspace unless its state is newer than `deletedAt`, and returns whether it did. States up to `deletedAt`
 * that arrive later are ignored, even if the workspace was never stored. Notifications of its tasks stay unchanged.
 */
export async function deleteWorkspace(
  { database, announce }: ChangeDependencies,
  userId: string,
  id: string,
  deletedAt: Time,
): Promise<boolean> {
  const revision = await userTransaction(database.fork(), [userId], async (em) => {
    const key = { userId, id };
    const stored = await em.nativeDelete(Workspace, { ...key, updatedAt: { $lte: deletedAt } });
    const changed = stored > 0 ? await incrementRevision(em, userId) : undefined;
    await recordDeletion(em, key, deletedAt, changed ?? 0);
    return changed;
  });
  if (revision === undefined) return false;
  announce({ user: userId, topic: 'workspaces', revision });
  return true;
}

async function incrementRevision(em: EntityManager, userId: string): Promise<number> {
  const { revision } = await getKysely(em)
    .updateTable('UserRevision')
    .set((eb) => ({ workspaces: eb('workspaces', '+', 1) }))
    .where('userId', '=', userId)
    .returning('workspaces as revision')
    .executeTakeFirstOrThrow();
  return revision;
}

/** A repeated deletion keeps the revision of the first one, which streams may not have reported yet. */
async function recordDeletion(
  em: EntityManager,
  key: { userId: string; id: string },
  deletedAt: Time,
  revision: number,
): Promise<void> {
  const last = await em.findOne(WorkspaceDeletion, key);
  if (last === null) await em.insert(WorkspaceDeletion, { ...key, deletedAt, revision });
  else if (deletedAt > last.deletedAt) {
    await em.nativeUpdate(WorkspaceDeletion, key, { deletedAt, revision: Math.max(revision, last.revision) });
  }
}
