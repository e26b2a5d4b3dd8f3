import { type RawBuilder, sql } from 'kysely';
import { defineBatchedRead } from '../database/batched-read.ts';
import {
  type CountsInput,
  type Filter,
  isAmong,
  joinConditions,
  type KeysInput,
  type OneOrMore,
  ownerOfPage,
  type Page,
  type PageInput,
  selectCounts,
  selectPages,
  toPageInput,
} from '../database/page.ts';
import {
  defineCounts,
  defineListRead,
  definePageRead,
  type ReadParams,
  type Selected,
  selectProperties,
} from '../database/read.ts';
import { defineUserList } from '../database/user-list.ts';
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

/** The workspaces of a user. */
export const workspaceList = defineUserList({
  toInput: toListInput,
  readPages: definePageRead(
    (db, params: ReadParams<ListInput & OneOrMore>) => {
      const selected = params.selected('Workspace', alwaysListed);
      const properties = [...alwaysListed, ...selected];
      return selectPages<'Workspace'>(db, params, (user) => selectMatching(params, user), properties)
        .$call((page) => selectProperties(page, alwaysListed, selected))
        .$if(params.has('tagged'), (page) =>
          page.select(selectTag(db, 'workspaces', ownerOfPage(params)).as('tag')),
        );
    },
    (input) => input.users !== undefined || mayScanMany(input),
  ),
  readCounts: defineCounts((db, params: ReadParams<ListInput & CountsInput>) =>
    selectCounts(db, params, (user) => selectMatching(params, user)),
  ),
});

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
