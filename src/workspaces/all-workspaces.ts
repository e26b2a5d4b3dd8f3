import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Listed, Page, PageInput } from '../database/page.ts';
import { MAX_COUNT } from '../database/page.ts';
import {
  type Branches,
  type BranchFilter,
  type BranchInput,
  branchValue,
  selectCountAcrossUsers,
  selectPageAcrossUsers,
  toBranchInput,
  toCountInput,
} from '../database/page-across-users.ts';
import {
  defineCount,
  definePageRead,
  type ReadParams,
  type Selected,
  selectProperties,
} from '../database/read.ts';
import type { Workspace } from './workspace.entity.ts';
import { type WorkspaceStatus, workspaceStatuses } from './workspace.enums.ts';

type ListInput = PageInput & BranchInput;

/** The statuses to list. Null matches all, an empty list nothing. */
type Statuses = readonly WorkspaceStatus[] | null | undefined;

function toBranches(statuses: Statuses): Branches {
  return { branches: [...new Set(statuses ?? workspaceStatuses)], isChecked: false };
}

/** Selects by the index `workspace_of_status`. */
const filter: BranchFilter<'Workspace'> = {
  table: 'Workspace',
  range: sql`status = ${branchValue}`,
  matches: undefined,
};

/** The properties that a list reads in any case. */
const always = ['id', 'userId', 'createdAt'] as const;

/** A workspace of any user, with the selected properties. */
export type SelectedPlatformWorkspace = Selected<Workspace, (typeof always)[number]>;

const list = definePageRead(
  (db, params: ReadParams<ListInput>) => {
    const selected = params.selected('Workspace', always);
    return selectPageAcrossUsers(db, params, filter, [...always, ...selected]).$call((page) =>
      selectProperties(page, always, selected),
    );
  },
  () => true,
);

/** Lists the workspaces of all users, newest first, with the selected properties. */
export async function listAllWorkspaces(
  database: Database,
  statuses: Statuses,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Listed<SelectedPlatformWorkspace>[]> {
  return list(database, toBranchInput(page, toBranches(statuses)), selected);
}

const count = defineCount((db, params: ReadParams<ListInput>) => selectCountAcrossUsers(db, params, filter));

/** Counts the workspaces of all users, up to a maximum. */
export async function countAllWorkspaces(database: Database, statuses: Statuses): Promise<number> {
  return count(database, toCountInput(toBranches(statuses), MAX_COUNT));
}
