import { sql } from 'kysely';
import { defineBatchedRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import {
  type Combinations,
  countMatching,
  equalsIfGiven,
  type Page,
  type PageInput,
  selectPage,
  type Tagged,
  toPageInput,
} from '../database/page.ts';
import {
  defineCount,
  defineCounts,
  definePageRead,
  type ReadParams,
  type Selected,
  selectProperties,
} from '../database/read.ts';
import { selectTag } from '../revisions/revisions.ts';
import type { Workspace } from './workspace.entity.ts';
import { type WorkspaceStatus, workspaceStatuses } from './workspace.enums.ts';

/** A filter of a user's workspaces. An omitted condition, null or an empty list matches everything. */
export type WorkspaceFilter = {
  projectId?: string | null | undefined;
  status?: readonly WorkspaceStatus[] | null | undefined;
};

/** The project and the matching statuses. Both are undefined without a filter. */
type FilterInput = {
  userId: string;
  projectId: string | undefined;
  statuses: readonly WorkspaceStatus[] | undefined;
};

function toFilterInput(userId: string, { projectId, status }: WorkspaceFilter): FilterInput {
  if (projectId == null && !status?.length) return { userId, projectId: undefined, statuses: undefined };
  const statuses = new Set(status?.length ? status : workspaceStatuses);
  return { userId, projectId: projectId ?? undefined, statuses: [...statuses] };
}

/**
 * Returns the statuses to read, which PostgreSQL finds by an index on (userId, status, createdAt, id), or one that also
 * contains the project.
 */
function toCombinations(params: ReadParams<FilterInput>): Combinations {
  const { param } = params;
  const isInProject = equalsIfGiven(params, 'projectId');
  return {
    from: sql`unnest(${param('statuses')}::text[]) as wanted (status)`,
    table: 'Workspace',
    matches: sql`${sql.ref('userId')} = ${param('userId')} and ${isInProject} and status = wanted.status`,
  };
}

const always = ['id'] as const;

/** A workspace with the selected properties. */
export type SelectedWorkspace = Selected<Workspace, (typeof always)[number]>;

const list = definePageRead((db, params: ReadParams<FilterInput & PageInput>) => {
  const { param, has, selected } = params;
  const all = db
    .selectFrom('Workspace')
    .$call((all) => selectProperties(all, always, selected('Workspace', always)))
    .where('userId', '=', param('userId'))
    .$if(has('tagged'), (all) => all.select(selectTag(db, 'workspaces', param('userId')).as('tag')));
  return selectPage(all, params, has('statuses') ? toCombinations(params) : undefined);
});

/** Lists a user's workspaces, newest first, with the selected properties. */
export async function listWorkspaces(
  database: Database,
  userId: string,
  filter: WorkspaceFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Tagged<SelectedWorkspace>[]> {
  return list(database, { ...toFilterInput(userId, filter), ...toPageInput(page) }, selected);
}

const count = defineCount((db, params: ReadParams<FilterInput>) =>
  params.has('statuses')
    ? db.selectNoFrom(countMatching(toCombinations(params)).as('count'))
    : db
        .selectFrom('Workspace')
        .where('userId', '=', params.param('userId'))
        .select((eb) => eb.fn.countAll<number>().as('count')),
);

/** Counts the workspaces that match a filter. */
export async function countWorkspaces(
  database: Database,
  userId: string,
  filter: WorkspaceFilter,
): Promise<number> {
  return count(database, toFilterInput(userId, filter));
}

const countByUser = defineCounts((db, { param }: ReadParams<{ users: readonly string[] }>) =>
  db
    .selectFrom('Workspace')
    .select(['userId', (eb) => eb.fn.countAll<number>().as('count')])
    .where('userId', '=', sql<string>`any(${param('users')}::text[])`)
    .groupBy('userId'),
);

/** Counts a user's workspaces. Concurrent calls are combined into one statement. */
export const countWorkspacesOfUser = defineBatchedRead<string, number>(async (database, users) => {
  const counts = new Map(
    (await countByUser(database, { users })).map(({ userId, count }) => [userId, count]),
  );
  return users.map((user) => counts.get(user) ?? 0);
});
