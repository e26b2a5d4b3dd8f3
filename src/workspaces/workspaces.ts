import { type RawBuilder, sql } from 'kysely';
import { defineBatchedRead, defineListsOfUsersRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import {
  type Filter,
  isAmong,
  joinConditions,
  type KeysInput,
  type Listed,
  type OfUsers,
  type Page,
  type PageInput,
  selectCount,
  selectCountsOfUsers,
  selectPage,
  selectPagesOfUsers,
  toPageInput,
} from '../database/page.ts';
import {
  defineCount,
  defineCounts,
  defineListRead,
  definePageRead,
  type ReadParams,
  type Selected,
  selectProperties,
} from '../database/read.ts';
import { selectTag } from '../revisions/revisions.ts';
import { isUuid } from '../values/text.ts';
import type { Workspace } from './workspace.entity.ts';
import type { WorkspaceStatus } from './workspace.enums.ts';

/** A filter of a user's workspaces. An omitted condition or null matches everything, an empty list nothing. */
export type WorkspaceFilter = {
  projectIds?: readonly string[] | null | undefined;
  statuses?: readonly WorkspaceStatus[] | null | undefined;
};

/** A filter as inputs of a read. */
type FilterInput = {
  projectIds: readonly string[] | undefined;
  statuses: readonly WorkspaceStatus[] | undefined;
};

function toListInput({ projectIds, statuses }: WorkspaceFilter, page: Page) {
  return {
    ...toPageInput(page),
    projectIds: projectIds ?? undefined,
    statuses: statuses == null ? undefined : [...new Set(statuses)],
  };
}

type ListInput = FilterInput & PageInput;

function selectMatching(
  { param, has }: ReadParams<FilterInput>,
  userId: RawBuilder<string>,
): Filter<'Workspace'> {
  return {
    table: 'Workspace',
    range: sql`${sql.ref('userId')} = ${userId}`,
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

/** A workspace with the selected properties. */
export type SelectedWorkspace = Selected<Workspace, (typeof always)[number]>;

const list = definePageRead((db, params: ReadParams<ListInput & { userId: string }>) => {
  const userId = params.param('userId');
  const selected = params.selected('Workspace', alwaysListed);
  return selectPage(db, params, selectMatching(params, userId), [...alwaysListed, ...selected])
    .$call((page) => selectProperties(page, alwaysListed, selected))
    .$if(params.has('tagged'), (page) => page.select(selectTag(db, 'workspaces', userId).as('tag')));
}, mayScanMany);

/** Lists a user's workspaces, newest first, with the selected properties. */
export async function listWorkspaces(
  database: Database,
  userId: string,
  filter: WorkspaceFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Listed<SelectedWorkspace>[]> {
  return list(database, { userId, ...toListInput(filter, page) }, selected);
}

const listOfUsers = definePageRead(
  (db, params: ReadParams<ListInput & OfUsers>) => {
    const selected = params.selected('Workspace', alwaysListed);
    const properties = [...alwaysListed, ...selected];
    const toFilter = (userId: RawBuilder<string>) => selectMatching(params, userId);
    return selectPagesOfUsers<'Workspace'>(db, params, toFilter, properties).$call((page) =>
      selectProperties(page, alwaysListed, selected),
    );
  },
  () => true,
);

/** Does the same. Reads the lists of several users by one statement. */
export const listWorkspacesTogether = defineListsOfUsersRead(
  (database, users, { filter, page }: { filter: WorkspaceFilter; page: Page }, selected) =>
    listOfUsers(database, { users, ...toListInput(filter, page) }, selected),
);

const count = defineCount((db, params: ReadParams<ListInput & { userId: string }>) =>
  selectCount(db, params, selectMatching(params, params.param('userId'))),
);

/** Counts the workspaces that match a filter. */
export async function countWorkspaces(
  database: Database,
  userId: string,
  filter: WorkspaceFilter,
): Promise<number> {
  return count(database, { userId, ...toListInput(filter, {}) });
}

const countOfUsers = defineCounts((db, params: ReadParams<ListInput & OfUsers>) =>
  selectCountsOfUsers(db, params, (userId) => selectMatching(params, userId)),
);

/** Does the same. Counts for several users by one statement. */
export const countWorkspacesTogether = defineListsOfUsersRead((database, users, filter: WorkspaceFilter) =>
  countOfUsers(database, { users, ...toListInput(filter, {}) }),
);

const findAmong = defineListRead((db, params: ReadParams<KeysInput>) => {
  const selected = params.selected('Workspace', ['userId', 'id']);
  return selectProperties(db.selectFrom('Workspace'), ['userId', 'id'], selected).where(
    isAmong(params, 'uuid'),
  );
});

/** Finds a workspace by user and ID, with the selected properties. Concurrent calls become one statement. */
export const findWorkspaceTogether = defineBatchedRead<
  { userId: string; id: string },
  { workspace: SelectedWorkspace | undefined }
>(async (database, keys, selected) => {
  const uuids = keys.filter(({ id }) => isUuid(id));
  const input = { users: uuids.map(({ userId }) => userId), ids: uuids.map(({ id }) => id) };
  const found = Map.groupBy(await findAmong(database, input, selected), ({ userId }) => userId);
  return keys.map((key) => ({
    workspace: found.get(key.userId)?.find(({ id }) => id === key.id.toLowerCase()),
  }));
});
