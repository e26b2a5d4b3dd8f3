import { sql } from 'kysely';
import { batchReads } from '../database/batch-reads.ts';
import type { EntityManager } from '../database/database.ts';
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
import { type Inputs, readCount, readPage } from '../database/read.ts';
import type { Selected } from '../database/selected.ts';
import { selectTag } from '../revisions/revisions.ts';
import type { Workspace } from './workspace.entity.ts';
import { type WorkspaceStatus, workspaceStatuses } from './workspace.enums.ts';

/** Which of a user's workspaces; an empty list or none is no filter. */
export type WorkspaceFilter = {
  projectId?: string | null | undefined;
  status?: readonly WorkspaceStatus[] | null | undefined;
};

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

const always = ['id'] as const;

/** A workspace with the selected properties. */
export type SelectedWorkspace = Selected<Workspace, (typeof always)[number]>;

const list = readPage((db, inputs: Inputs<FilterInput & PageInput>) => {
  const { slot, has, chosen } = inputs;
  const all = db
    .selectFrom('Workspace')
    .select(always)
    .$if(true, (all) => all.select(chosen('Workspace', always)))
    .where('userId', '=', slot('userId'))
    .$if(has('tagged'), (all) => all.select(selectTag(db, 'workspaces', slot('userId')).as('tag')));
  if (!has('statuses')) return cutPage(all, inputs);
  const ids = idsOfPage(combinations(inputs), inputs);
  return inOrder(all.where('id', '=', sql<string>`any(${ids})`), has('backwards'));
});

/** Lists a user's workspaces in all projects, newest first, with the selected properties. */
export async function listWorkspaces(
  em: EntityManager,
  userId: string,
  filter: WorkspaceFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Tagged<SelectedWorkspace>[]> {
  return list(em, { ...filterInput(userId, filter), ...pageInput(page) }, selected);
}

const count = readCount((db, inputs: Inputs<FilterInput>) =>
  inputs.has('statuses')
    ? db.selectNoFrom(countMatching(combinations(inputs)).as('count'))
    : db
        .selectFrom('Workspace')
        .where('userId', '=', inputs.slot('userId'))
        .select((eb) => eb.fn.countAll<number>().as('count')),
);

/** Counts the whole list. */
export async function countWorkspaces(
  em: EntityManager,
  userId: string,
  filter: WorkspaceFilter,
): Promise<number> {
  return count(em, filterInput(userId, filter));
}

const countOfUsers = readPage((db, { slot }: Inputs<{ users: readonly string[] }>) =>
  db
    .selectFrom('Workspace')
    .select(['userId', (eb) => eb.fn.countAll<number>().as('count')])
    .where('userId', '=', sql<string>`any(${slot('users')}::text[])`)
    .groupBy('userId'),
);

/** Counts a user's workspaces; calls for several users are combined into one statement. */
export const countWorkspacesOfUser = batchReads<string, number>(async (em, users) => {
  const counts = new Map((await countOfUsers(em, { users })).map(({ userId, count }) => [userId, count]));
  return users.map((user) => counts.get(user) ?? 0);
});
