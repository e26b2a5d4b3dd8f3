import { sql } from 'kysely';
import { type Slots, statement } from '../database/statement.ts';
import type { Writer } from '../live/announcer.ts';
import { change } from '../revisions/change.ts';
import type { Time } from '../values/time.ts';

/**
 * Deletes a workspace as of `deletedAt`, also one that was never stored: states from before no longer bring it back.
 * Returns whether one was deleted; one with a newer state stays.
 */
export async function deleteWorkspace(
  { em, announce }: Writer,
  userId: string,
  id: string,
  deletedAt: Time,
): Promise<boolean> {
  const [deletion] = await change(em, [userId], (run) => run(remove, { userId, id, deletedAt }));
  if (deletion === undefined || deletion.revision === null) return false;
  announce({ user: userId, topic: 'workspaces', revision: deletion.revision });
  return true;
}

const remove = statement((db, { slot }: Slots<{ userId: string; id: string; deletedAt: Time }>) =>
  db
    .with('removed', (db) =>
      db
        .deleteFrom('Workspace')
        .where('userId', '=', slot('userId'))
        .where('id', '=', slot('id'))
        .where('updatedAt', '<=', slot('deletedAt'))
        .returning('id'),
    )
    .with('reached', (db) =>
      db
        .updateTable('UserRevision')
        .set((eb) => ({ workspaces: eb('workspaces', '+', 1) }))
        .where('userId', '=', slot('userId'))
        .where(({ exists, selectFrom }) => exists(selectFrom('removed').select('id')))
        .returning('workspaces'),
    )
    .with('noted', (db) =>
      db
        .insertInto('WorkspaceDeletion')
        .values({
          userId: slot('userId'),
          id: slot('id'),
          deletedAt: slot('deletedAt'),
          revision: sql<number>`coalesce((select workspaces from reached), 0)`,
        })
        .onConflict((conflict) =>
          conflict
            .columns(['userId', 'id'])
            .doUpdateSet((eb) => ({
              deletedAt: eb.ref('excluded.deletedAt'),
              // A deletion that is repeated keeps its revision: whoever has not seen it yet still has to.
              revision: eb.fn('greatest', ['excluded.revision', 'WorkspaceDeletion.revision']),
            }))
            .whereRef('excluded.deletedAt', '>', 'WorkspaceDeletion.deletedAt'),
        )
        .returning('id'),
    )
    .selectNoFrom(sql<number | null>`(select workspaces from reached)`.as('revision')),
);
