import { sql } from 'kysely';
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
import { type Inputs, prepared } from '../database/prepared.ts';
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
