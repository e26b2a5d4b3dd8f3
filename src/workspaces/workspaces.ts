import { sql } from 'kysely';
import { type EntityManager, query } from '../database/database.ts';
import {
  type Combinations,
  countMatching,
  cutPage,
  idsOfPage,
  inOrder,
  type Page,
  type PageInput,
  pageInput,
  type Tagged,
} from '../database/page.ts';
import { type Inputs, prepared } from '../database/prepared.ts';
import { lockUser, raiseRevision, selectTag } from '../revisions/revisions.ts';
import type { Time } from '../time.ts';
import { type Workspace, type WorkspaceStatus, workspaceStatuses } from './workspace.entity.ts';

/** Which of a user's workspaces; an empty list or none is no filter. */
export type WorkspaceFilter = {
  projectId?: string | null | undefined;
  status?: readonly WorkspaceStatus[] | null | undefined;
};

/** A workspace as the platform reports it. */
export type WorkspaceState = Omit<Workspace, 'userId' | 'revision'>;

/** The project and all statuses that match; neither without a filter. */
type FilterInput = {
  userId: string;
  projectId: string | undefined;
  statuses: readonly WorkspaceStatus[] | undefined;
};

function filterInput(userId: string, { projectId, status }: WorkspaceFilter): FilterInput {
  if (projectId == null && !status?.length) return { userId, projectId: undefined, statuses: undefined };
  const statuses = new Set(status?.length ? status : workspaceStatuses);
  return { userId, projectId: projectId ?? undefined, statuses: [...statuses] };
}

/** By the index on (user_id, status, created_at, id), or the one on (user_id, project_id, status, created_at, id). */
function combinations({ slot, has }: Inputs<FilterInput>): Combinations {
  const isOfProject = has('projectId') ? sql`project_id = ${slot('projectId')}` : sql`true`;
  return {
    from: sql`unnest(${slot('statuses')}::text[]) as wanted (status)`,
    table: 'workspace',
    matches: sql`user_id = ${slot('userId')} and ${isOfProject} and status = wanted.status`,
  };
}

const list = prepared<FilterInput & PageInput, Tagged<Workspace>>((db, inputs) => {
  const { slot, has, read } = inputs;
  const all = db
    .selectFrom('Workspace')
    .select(read('Workspace', 'id'))
    .where('userId', '=', slot('userId'))
    .$if(has('tagged'), (all) => all.select(selectTag(db, 'workspaces', slot('userId')).as('tag')));
  if (!has('statuses')) return cutPage(all, inputs);
  const ids = idsOfPage(combinations(inputs), inputs);
  return inOrder(all.where('id', '=', sql<string>`any(${ids})`), has('backwards'));
});

/** A user's workspaces over all projects, newest first; beside `id` only with the properties that are told to be read. */
export async function listWorkspaces(
  em: EntityManager,
  userId: string,
  filter: WorkspaceFilter,
  page: Page,
  reads?: ReadonlySet<string>,
): Promise<Tagged<Workspace>[]> {
  return list(em, { ...filterInput(userId, filter), ...pageInput(page) }, reads);
}

const count = prepared<FilterInput, { count: number }>((db, inputs) =>
  inputs.has('statuses')
    ? db.selectNoFrom(countMatching(combinations(inputs)).as('count'))
    : db
        .selectFrom('Workspace')
        .where('userId', '=', inputs.slot('userId'))
        .select((eb) => eb.fn.countAll<number>().as('count')),
);

/** How many there are without paging. */
export async function countWorkspaces(
  em: EntityManager,
  userId: string,
  filter: WorkspaceFilter,
): Promise<number> {
  const [row] = await count(em, filterInput(userId, filter));
  return row?.count ?? 0;
}

/**
 * Stores the states that are newer than what is known of each workspace, its deletion included, all or none.
 * Answers those that it stored.
 */
export async function putWorkspaces(
  em: EntityManager,
  userId: string,
  states: readonly WorkspaceState[],
): Promise<Workspace[]> {
  return em.transactional(async (em) => {
    const { workspaces: revision } = await lockUser(em, userId);
    const ids = states.map(({ id }) => id);
    const deletions = await deletionTimes(em, userId, ids);
    const known = states.filter(({ id, updatedAt }) => updatedAt > (deletions.get(id) ?? ''));
    const numbered = known.map((state, index) => ({ ...state, userId, revision: revision + index + 1 }));
    const stored = await storeNewer(em, numbered);
    if (stored.length > 0) await raiseRevision(em, userId, { workspaces: revision + numbered.length });
    return stored;
  });
}

/**
 * Removes a workspace as of `deletedAt`, also one that was never seen: states from before no longer bring it
 * back. Answers whether one was removed; one with a newer state stays.
 */
export async function deleteWorkspace(
  em: EntityManager,
  userId: string,
  id: string,
  deletedAt: Time,
): Promise<boolean> {
  return em.transactional(async (em) => {
    const { workspaces } = await lockUser(em, userId);
    const removed = await query(em)
      .deleteFrom('Workspace')
      .where('userId', '=', userId)
      .where('id', '=', id)
      .where('updatedAt', '<=', deletedAt)
      .returning('id')
      .executeTakeFirst();
    const revision = workspaces + 1;
    // A deletion that is told again keeps its revision: whoever has not seen it yet still has to.
    const latest = removed === undefined ? { deletedAt } : { deletedAt, revision };
    await query(em)
      .insertInto('WorkspaceDeletion')
      .values({ userId, id, ...latest })
      .onConflict((conflict) =>
        conflict
          .columns(['userId', 'id'])
          .doUpdateSet(latest)
          .where('WorkspaceDeletion.deletedAt', '<', deletedAt),
      )
      .execute();
    if (removed !== undefined) await raiseRevision(em, userId, { workspaces: revision });
    return removed !== undefined;
  });
}

async function deletionTimes(em: EntityManager, userId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, Time>();
  const rows = await query(em)
    .selectFrom('WorkspaceDeletion')
    .select(['id', 'deletedAt'])
    .where('userId', '=', userId)
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map(({ id, deletedAt }) => [id, deletedAt]));
}

async function storeNewer(em: EntityManager, workspaces: readonly Workspace[]): Promise<Workspace[]> {
  if (workspaces.length === 0) return [];
  return query(em)
    .insertInto('Workspace')
    .values(workspaces)
    .onConflict((conflict) =>
      conflict
        .columns(['userId', 'id'])
        .doUpdateSet((eb) => ({
          revision: eb.ref('excluded.revision'),
          projectId: eb.ref('excluded.projectId'),
          status: eb.ref('excluded.status'),
          cpuKind: eb.ref('excluded.cpuKind'),
          cpus: eb.ref('excluded.cpus'),
          memoryMb: eb.ref('excluded.memoryMb'),
          volumeSizeGb: eb.ref('excluded.volumeSizeGb'),
          gpuKind: eb.ref('excluded.gpuKind'),
          keepActive: eb.ref('excluded.keepActive'),
          machineId: eb.ref('excluded.machineId'),
          privateIp: eb.ref('excluded.privateIp'),
          gitRef: eb.ref('excluded.gitRef'),
          previewToken: eb.ref('excluded.previewToken'),
          errorMessage: eb.ref('excluded.errorMessage'),
          createdAt: eb.ref('excluded.createdAt'),
          updatedAt: eb.ref('excluded.updatedAt'),
        }))
        .where((eb) => eb('excluded.updatedAt', '>', eb.ref('Workspace.updatedAt'))),
    )
    .returningAll()
    .execute();
}
