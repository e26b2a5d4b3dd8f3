import type { EntityManager } from '../database/database.ts';
import { prepared } from '../database/prepared.ts';
import type { Source } from '../live/stream.ts';
import { BATCH_RECORDS, endOfBatch } from '../revisions/batch.ts';
import type { Workspace } from './workspace.entity.ts';

/** A workspace as a change left it; null once it is gone. */
export type WorkspaceEvent = { id: string; workspace: Workspace | null };

type Change = WorkspaceEvent & { revision: number };

/** All of a user's workspaces as they are, then each change of one; only with the properties that are told to be read. */
export function watchWorkspaces(
  em: EntityManager,
  userId: string,
  reads?: ReadonlySet<string>,
): Source<WorkspaceEvent> {
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
      const kept = await changed(em, { userId, after: seen, upTo: reached }, reads);
      const removed = await gone(em, { userId, after: Math.max(seen, goneSeen), upTo: reached });
      // Behind the last of a batch either may have more.
      const lastRemoved = removed.length === BATCH_RECORDS ? removed.at(-1)?.revision : undefined;
      const end = Math.min(kept.at(-1)?.revision ?? reached, lastRemoved ?? reached);
      const changes: Change[] = [
        ...kept.map((workspace) => ({ id: workspace.id, workspace, revision: workspace.revision })),
        ...removed.map((row) => ({ ...row, workspace: null })),
      ];
      seen = end;
      const events = changes
        .filter(({ revision }) => revision <= end)
        .sort((a, b) => a.revision - b.revision);
      return { events, hasMore: end < reached };
    },
  };
}

/** Revisions of a user behind one and up to another. */
type Range = { userId: string; after: number; upTo: number };

/** The columns of unlimited length, by property. */
const texts = {
  cpuKind: 'cpu_kind',
  gpuKind: 'gpu_kind',
  machineId: 'machine_id',
  privateIp: 'private_ip',
  gitRef: 'git_ref',
  previewToken: 'preview_token',
  errorMessage: 'error_message',
} as const satisfies Partial<Record<keyof Workspace, string>>;

const changed = prepared<Range, Workspace>((db, { slot, read }) => {
  const properties = read('Workspace', 'id', 'revision');
  const [userId, after] = [slot('userId'), slot('after')];
  const columns = Object.entries(texts).flatMap(([name, column]) =>
    properties.some((read) => read === name) ? [column] : [],
  );
  return db
    .selectFrom('Workspace')
    .select(properties)
    .where('userId', '=', userId)
    .where('revision', '>', after)
    .where('revision', '<=', slot('upTo'))
    .where('revision', '<=', endOfBatch({ table: 'workspace', userId, after }, columns))
    .orderBy('revision')
    .limit(BATCH_RECORDS);
});

const gone = prepared<Range, { id: string; revision: number }>((db, { slot }) =>
  db
    .selectFrom('WorkspaceDeletion')
    .select(['id', 'revision'])
    .where('userId', '=', slot('userId'))
    .where('revision', '>', slot('after'))
    .where('revision', '<=', slot('upTo'))
    .orderBy('revision')
    .limit(BATCH_RECORDS),
);
