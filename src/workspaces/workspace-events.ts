import { type EntityManager, query } from '../database/database.ts';
import type { Source } from '../live/stream.ts';
import { findRevision } from '../revisions/revisions.ts';
import type { Workspace } from './workspace.entity.ts';

/** A workspace as a change left it; null once it is gone. */
export type WorkspaceEvent = { id: string; workspace: Workspace | null };

type Change = WorkspaceEvent & { revision: number };

/** Changes read at once. */
const BATCH = 100;

/** All of a user's workspaces as they are, then each change of one. */
export function watchWorkspaces(em: EntityManager, userId: string): Source<WorkspaceEvent> {
  let seen = 0;
  let goneSeen = 0;
  return {
    topic: 'workspaces',
    userId,
    isKnown: (revision) => revision <= seen,
    async start() {
      // What was gone before is no news.
      goneSeen = (await findRevision(em, userId))?.workspaces ?? 0;
    },
    async read() {
      const changes = [
        ...(await changed(em, userId, seen)),
        ...(await gone(em, userId, Math.max(seen, goneSeen))),
      ]
        .sort((a, b) => a.revision - b.revision)
        .slice(0, BATCH);
      seen = changes.at(-1)?.revision ?? seen;
      return { events: changes, hasMore: changes.length === BATCH };
    },
  };
}

async function changed(em: EntityManager, userId: string, after: number): Promise<Change[]> {
  const rows = await query(em)
    .selectFrom('Workspace')
    .selectAll()
    .where('userId', '=', userId)
    .where('revision', '>', after)
    .orderBy('revision')
    .limit(BATCH)
    .execute();
  return rows.map((workspace) => ({ id: workspace.id, workspace, revision: workspace.revision }));
}

async function gone(em: EntityManager, userId: string, after: number): Promise<Change[]> {
  const rows = await query(em)
    .selectFrom('WorkspaceDeletion')
    .select(['id', 'revision'])
    .where('userId', '=', userId)
    .where('revision', '>', after)
    .orderBy('revision')
    .limit(BATCH)
    .execute();
  return rows.map((row) => ({ ...row, workspace: null }));
}
