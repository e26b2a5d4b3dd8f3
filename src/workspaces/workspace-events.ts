import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams, selectProperties } from '../database/read.ts';
import type { Source } from '../live/source.ts';
import {
  defineNextBatchRead,
  findBatches,
  MAX_BATCH_RECORDS,
  type PositionsInput,
  selectInBatches,
} from '../live/stream-batches.ts';
import type { Workspace } from './workspace.entity.ts';
import type { SelectedWorkspace } from './workspaces.ts';

/** A workspace after a change, with the selected properties; null if it was deleted. */
export type WorkspaceEvent = { id: string; workspace: SelectedWorkspace | null; revision: number };

/**
 * The events of a user's workspaces: first the current state of each workspace, then the new state of each one that
 * changes. Several changes of a workspace may be combined.
 */
export function createWorkspaceSource(
  database: Database,
  userId: string,
  selected?: ReadonlySet<string>,
): Source<WorkspaceEvent> {
  let firstRevision = 0;
  return {
    topic: 'workspaces',
    isState: false,
    getStartRevision(revisions) {
      // Deletions before the subscription are not reported.
      firstRevision = revisions?.workspaces ?? 0;
      return 0;
    },
    async read(after, revisions) {
      // The two reads have different snapshots. Both snapshots contain every change up to `current`.
      const current = revisions?.workspaces ?? 0;
      const [changed, deleted] = await Promise.all([
        readChanges(database, { userId, after }, selected),
        readDeletions(database, { userId, after: Math.max(after, firstRevision) }),
      ]);
      // A batch may not reach `current`. A batch of deletions reaches it unless it is full. A batch of changes is also
      // limited by size, so its length does not show whether it does: it is complete up to its last change only. Events
      // after `end`, up to which both batches are complete, are left for the next read.
      const lastDeleted = deleted.length === MAX_BATCH_RECORDS ? deleted.at(-1)?.revision : undefined;
      const end = Math.min(changed.at(-1)?.revision ?? current, lastDeleted ?? current, current);
      const events = [
        ...changed.map((workspace) => ({ id: workspace.id, workspace, revision: workspace.revision })),
        ...deleted.map((deletion) => ({ ...deletion, workspace: null })),
      ]
        .filter(({ revision }) => revision <= end)
        .sort((a, b) => a.revision - b.revision);
      return { events, seen: end };
    },
  };
}

/** The properties that can hold long text. */
const texts = [
  'cpuKind',
  'gpuKind',
  'machineId',
  'privateIp',
  'gitRef',
  'previewToken',
  'errorMessage',
] as const satisfies readonly (keyof Workspace)[];

const always = ['id', 'revision'] as const;

const findChanged = defineListRead((db, params: ReadParams<PositionsInput>) => {
  const selected = params.selected('Workspace', always);
  const batches = findBatches('Workspace', params, texts, selected);
  const changed = db.selectFrom('Workspace').innerJoin(batches.as('batch'), (join) => join.onTrue());
  return selectInBatches(selectProperties(changed, always, selected));
});

const readChanges = defineNextBatchRead(findChanged);

const findDeleted = defineListRead((db, params: ReadParams<PositionsInput>) =>
  selectInBatches(
    db
      .selectFrom('WorkspaceDeletion')
      .innerJoin(findBatches('WorkspaceDeletion', params).as('batch'), (join) => join.onTrue())
      .select(['id', 'revision']),
  ),
);

const readDeletions = defineNextBatchRead(findDeleted);
