import { type RawBuilder, sql } from 'kysely';
import { defineBatchedRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import {
  type Bounds,
  type Filter,
  joinConditions,
  type Listed,
  type Page,
  type PageInput,
  selectCount,
  selectPage,
  textBytes,
  toPageInput,
} from '../database/page.ts';
import {
  defineCount,
  defineCounts,
  defineLargeRead,
  definePageRead,
  type ReadParams,
  type Selected,
  selectProperties,
} from '../database/read.ts';
import { selectTag } from '../revisions/revisions.ts';
import type { Workspace } from './workspace.entity.ts';
import type { WorkspaceStatus } from './workspace.enums.ts';

/** A filter of a user's workspaces. An omitted condition or null matches everything, an empty list nothing. */
export type WorkspaceFilter = {
  projectIds?: readonly string[] | null | undefined;
  statuses?: readonly WorkspaceStatus[] | null | undefined;
};

/** A filter as inputs of a read. */
type FilterInput = {
  userId: string;
  projectIds: readonly string[] | undefined;
  statuses: readonly WorkspaceStatus[] | undefined;
};

function toFilterInput(userId: string, { projectIds, statuses }: WorkspaceFilter): FilterInput {
  return {
    userId,
    projectIds: projectIds ?? undefined,
    statuses: statuses == null ? undefined : [...new Set(statuses)],
  };
}

function selectMatching({ param, has }: ReadParams<FilterInput>): Filter<'Workspace'> {
  return {
    table: 'Workspace',
    range: sql`${sql.ref('userId')} = ${param('userId')}`,
    matches: joinConditions([
      has('projectIds') && sql`${sql.ref('projectId')} = any(${param('projectIds')})`,
      has('statuses') && sql`status = any(${param('statuses')})`,
    ]),
  };
}

/** Whether finding the workspaces of a page may require reading many others. */
function mayScanMany({ projectIds, statuses, scanLimit }: FilterInput & PageInput): boolean {
  return scanLimit === undefined && (projectIds ?? statuses) !== undefined;
}

const always = ['id'] as const;

/** Lists also read what the position of a record consists of. */
const alwaysListed = [...always, 'createdAt'] as const;

const textSizes = { errorMessage: textBytes('errorMessage') } satisfies Partial<
  Record<keyof Workspace, RawBuilder<number>>
>;

/** A workspace with the selected properties. */
export type SelectedWorkspace = Selected<Workspace, (typeof always)[number]>;

const list = definePageRead(
  (db, params: ReadParams<FilterInput & PageInput>) => {
    const { param, has } = params;
    const selected = params.selected('Workspace', alwaysListed);
    return selectPage(db, params, selectMatching(params), [...alwaysListed, ...selected], textSizes)
      .$call((page) => selectProperties(page, alwaysListed, selected))
      .$if(has('tagged'), (page) => page.select(selectTag(db, 'workspaces', param('userId')).as('tag')));
  },
  textSizes,
  mayScanMany,
);

/** Lists a user's workspaces, newest first, with the selected properties. */
export async function listWorkspaces(
  database: Database,
  userId: string,
  filter: WorkspaceFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Listed<SelectedWorkspace>[]> {
  return list(database, { ...toFilterInput(userId, filter), ...toPageInput(page) }, selected);
}

/** Reads the selected long texts of a user's workspaces. */
export const readWorkspaceTexts = defineLargeRead(
  (db, params: ReadParams<{ userId: string; ids: readonly string[] }>) => {
    const texts = params.selected('Workspace', ['id']).filter((name) => Object.hasOwn(textSizes, name));
    return selectProperties(db.selectFrom('Workspace'), ['id'], texts)
      .where('userId', '=', params.param('userId'))
      .where('id', '=', sql<string>`any(${params.param('ids')})`);
  },
);

const count = defineCount((db, params: ReadParams<FilterInput & Bounds>) =>
  selectCount(db, params, selectMatching(params)),
);

/** Counts the workspaces that match a filter. */
export async function countWorkspaces(
  database: Database,
  userId: string,
  filter: WorkspaceFilter,
): Promise<number> {
  return count(database, { ...toFilterInput(userId, filter), ...toPageInput({}) });
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
