import { batched } from '../database/batched.ts';
import type { EntityManager } from '../database/database.ts';
import { type Inputs, readList } from '../database/read.ts';
import type { Selected } from '../database/selected.ts';
import type { Source } from '../live/stream.ts';
import {
  BATCH_RECORDS,
  batches,
  byPlace,
  isInBatch,
  type Place,
  type PlacesInput,
  placesInput,
} from '../revisions/batch.ts';
import type { Workspace } from './workspace.entity.ts';
import type { SelectedWorkspace } from './workspaces.ts';

/** A workspace after a change, with the selected properties; null if it was deleted. */
export type WorkspaceEvent = { id: string; workspace: SelectedWorkspace | null };

/** All of a user's workspaces in their current state, then each change, with the selected properties. */
export function watchWorkspaces(
  em: EntityManager,
  userId: string,
  selected?: ReadonlySet<string>,
): Source<WorkspaceEvent> {
  let removedBefore = 0;
  return {
    userId,
    topic: 'workspaces',
    startsAt(state) {
      // What was removed before is no news.
      removedBefore = state?.workspaces ?? 0;
      return 0;
    },
    async read(seen, state) {
      // Two statements see two moments: up to here both see all.
      const reached = state?.workspaces ?? 0;
      const [changed, removed] = await Promise.all([
        changedWorkspaces(em, { userId, after: seen }, selected),
        removedWorkspaces(em, { userId, after: Math.max(seen, removedBefore) }),
      ]);
      // Behind the last of a batch either may have more.
      const lastRemoved = removed.length === BATCH_RECORDS ? removed.at(-1)?.revision : undefined;
      const end = Math.min(changed.at(-1)?.revision ?? reached, lastRemoved ?? reached, reached);
      const events = [
        ...changed.map((workspace) => ({ id: workspace.id, workspace, revision: workspace.revision })),
        ...removed.map((removal) => ({ ...removal, workspace: null })),
      ]
        .filter(({ revision }) => revision <= end)
        .sort((a, b) => a.revision - b.revision);
      return { events, seen: end };
    },
  };
}

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

const always = ['id', 'revision'] as const;

const changed = readList((db, { slot, chosen }: Inputs<PlacesInput>) => {
  const properties = chosen('Workspace', always);
  const columns = Object.entries(texts).flatMap(([name, column]) =>
    properties.some((property) => property === name) ? [column] : [],
  );
  const batch = batches('workspace', { users: slot('users'), afters: slot('afters') }, columns);
  return db
    .selectFrom('Workspace')
    .innerJoin(batch.as('batch'), (join) => join.onTrue())
    .select(always)
    .$if(true, (all) => all.select(properties))
    .select('batch.place')
    .where(isInBatch)
    .orderBy('batch.place')
    .orderBy('revision');
});

type ChangedWorkspace = Selected<Workspace, (typeof always)[number]>;

const changedWorkspaces = batched<Place, ChangedWorkspace[]>(async (em, places, selected) =>
  byPlace(await changed(em, placesInput(places), selected), places),
);

type Removal = { id: string; revision: number };

const removed = readList((db, { slot }: Inputs<PlacesInput>) =>
  db
    .selectFrom('WorkspaceDeletion')
    .innerJoin(
      batches('workspace_deletion', { users: slot('users'), afters: slot('afters') }).as('batch'),
      (join) => join.onTrue(),
    )
    .select(['id', 'revision', 'batch.place'])
    .where(isInBatch)
    .orderBy('batch.place')
    .orderBy('revision'),
);

const removedWorkspaces = batched<Place, Removal[]>(async (em, places) =>
  byPlace(await removed(em, placesInput(places)), places),
);
