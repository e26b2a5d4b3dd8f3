import { type EntityManager, query } from '../database/database.ts';
import type { Source } from '../live/stream.ts';
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
    isKnown: (revision) => revision <= seen,
    start(state) {
      // What was gone before is no news.
      goneSeen = state?.workspaces ?? 0;
    },
    async read(state) {
      // Two statements see two moments: up to here both see all.
      const reached = state?.workspaces ?? 0;
      const changes = [
        ...(await changed(em, userId, { after: seen, upTo: reached })),
        ...(await gone(em, userId, { after: Math.max(seen, goneSeen), upTo: reached })),
      ]
        .sort((a, b) => a.revision - b.revision)
        .slice(0, BATCH);
      const hasMore = changes.length === BATCH;
      seen = (hasMore ? changes.at(-1)?.revision : undefined) ?? reached;
      return { events: changes, hasMore };
    },
  };
}

/** Revisions behind one and up to another. */
type Range = { after: number; upTo: number };

async function changed(em: EntityManager, userId: string, { after, upTo }: Range): Promise<Change[]> {
  const rows = await query(em)
    .selectFrom('Workspace')
    .selectAll()
    .where('userId', '=', userId)
    .where('revision', '>', after)
    .where('revision', '<=', upTo)
    .orderBy('revision')
    .limit(BATCH)
    .execute();
  return rows.map((workspace) => ({ id: workspace.id, workspace, revision: workspace.revision }));
}

async function gone(em: EntityManager, userId: string, { after, upTo }: Range): Promise<Change[]> {
  const rows = await query(em)
    .selectFrom('WorkspaceDeletion')
    .select(['id', 'revision'])
    .where('userId', '=', userId)
    .where('revision', '>', after)
    .where('revision', '<=', upTo)
    .orderBy('revision')
    .limit(BATCH)
    .execute();
  return rows.map((row) => ({ ...row, workspace: null }));
}
