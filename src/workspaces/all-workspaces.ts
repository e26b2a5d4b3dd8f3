import { sql } from 'kysely';
import { MAX_COUNT, type PageInput } from '../database/page.ts';
import {
  type Branches,
  type BranchFilter,
  type BranchInput,
  branchValue,
  defineListAcrossUsers,
  selectCountAcrossUsers,
  selectPageAcrossUsers,
} from '../database/page-across-users.ts';
import { type ReadParams, selectProperties } from '../database/read.ts';
import { type WorkspaceStatus, workspaceStatuses } from './workspace.enums.ts';

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

/** The workspaces of all users, with the selected properties. */
export const allWorkspaces = defineListAcrossUsers({
  toInput: (statuses: Statuses) => ({ input: {}, branches: toBranches(statuses) }),
  selectPage(db, params: ReadParams<PageInput & BranchInput>) {
    const selected = params.selected('Workspace', always);
    return selectPageAcrossUsers(db, params, filter, [...always, ...selected]).$call((page) =>
      selectProperties(page, always, selected),
    );
  },
  selectCount: (db, params) => selectCountAcrossUsers(db, params, filter),
  maxChecked: MAX_COUNT,
});
