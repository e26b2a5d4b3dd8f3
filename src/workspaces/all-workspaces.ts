import { sql } from 'kysely';
import { type Database, getKysely } from '../database/database.ts';
import { MAX_COUNT, type Page } from '../database/page.ts';
import {
  branchValue,
  countAcrossUsers,
  type ListAcrossUsers,
  selectPageAcrossUsers,
} from '../database/page-across-users.ts';
import { chooseProperties, selectProperties } from '../database/read.ts';
import { type WorkspaceStatus, workspaceStatuses } from './workspace.enums.ts';

/** The statuses to list. Null matches all, an empty list nothing. */
type Statuses = readonly WorkspaceStatus[] | null | undefined;

/** Selects by the index `workspace_of_status`. */
const toList = (statuses: Statuses): ListAcrossUsers<'Workspace'> => ({
  table: 'Workspace',
  branches: [...new Set(statuses ?? workspaceStatuses)],
  range: sql`status = ${branchValue}`,
  matches: undefined,
});

/** The properties that a list reads in any case. */
const always = ['id', 'userId', 'createdAt'] as const;

/** Lists the workspaces of all users, newest first, with the selected properties. */
export function listAllWorkspaces(
  database: Database,
  statuses: Statuses,
  page: Page,
  selected: ReadonlySet<string> | undefined,
) {
  const chosen = chooseProperties(database, 'Workspace', always, selected);
  return selectPageAcrossUsers(getKysely(database.fork()), toList(statuses), page, [...always, ...chosen])
    .$call((found) => selectProperties(found, always, chosen))
    .execute();
}

/** Counts the workspaces of all users, up to {@link MAX_COUNT}. */
export function countAllWorkspaces(database: Database, statuses: Statuses): Promise<number> {
  return countAcrossUsers(getKysely(database.fork()), toList(statuses), MAX_COUNT);
}
