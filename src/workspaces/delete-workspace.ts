import { sql } from 'kysely';
import { defineStatement, type Params } from '../database/statement.ts';
import { transaction } from '../database/transaction.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { Time } from '../values/time.ts';

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
  const [deletion] = await transaction(database, [userId], (run) =>
    run(deleteAsOf, { userId, id, deletedAt }),
  );
  if (deletion === undefined || deletion.revision === null) return false;
  announce({ user: userId, topic: 'workspaces', revision: deletion.revision });
  return true;
}

const deleteAsOf = defineStatement((db, { param }: Params<{ userId: string; id: string; deletedAt: Time }>) =>
  db
    .with('deleted', (db) =>
      db
        .deleteFrom('Workspace')
        .where('userId', '=', param('userId'))
        .where('id', '=', param('id'))
        .where('updatedAt', '<=', param('deletedAt'))
        .returning('id'),
    )
    .with('incremented', (db) =>
      db
        .updateTable('UserRevision')
        .set((eb) => ({ workspaces: eb('workspaces', '+', 1) }))
        .where('userId', '=', param('userId'))
        .where(({ exists, selectFrom }) => exists(selectFrom('deleted').select('id')))
        .returning('workspaces as revision'),
    )
    .with('recorded', (db) =>
      db
        .insertInto('WorkspaceDeletion')
        .values({
          userId: param('userId'),
          id: param('id'),
          deletedAt: param('deletedAt'),
          revision: sql<number>`coalesce((select revision from incremented), 0)`,
        })
        .onConflict((conflict) =>
          conflict
            .columns(['userId', 'id'])
            .doUpdateSet((eb) => ({
              deletedAt: eb.ref('excluded.deletedAt'),
              // A repeated deletion keeps the revision of the first one, which streams may not have reported yet.
              revision: eb.fn('greatest', ['excluded.revision', 'WorkspaceDeletion.revision']),
            }))
            .whereRef('excluded.deletedAt', '>', 'WorkspaceDeletion.deletedAt'),
        )
        .returning('id'),
    )
    .selectNoFrom(sql<number | null>`(select revision from incremented)`.as('revision')),
);
