import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { joinConditions, type Listed, type Page, type PageInput } from '../database/page.ts';
import {
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
import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';
import {
  isOnlyActive,
  type NotificationKind,
  type NotificationStatus,
  notificationKinds,
} from './notification.enums.ts';

/** A filter of the notifications of all users. An omitted list or null matches everything, an empty list nothing. */
export type PlatformNotificationFilter = {
  kinds?: readonly NotificationKind[] | null | undefined;
  statuses?: readonly NotificationStatus[] | null | undefined;
  projectIds?: readonly string[] | null | undefined;
  userIds?: readonly string[] | null | undefined;
  /** Created at this time or later. Defaults to any time. */
  since: Time | undefined;
};

/** A filter as inputs of a read. The branches are users, projects or kinds; the other conditions are checked. */
export type FilterInput = {
  byUser: true | undefined;
  byProject: true | undefined;
  /** The only status is `active`. `statuses` is then undefined. */
  active: true | undefined;
  statuses: readonly NotificationStatus[] | undefined;
  kinds: readonly NotificationKind[] | undefined;
  projectIds: readonly string[] | undefined;
};

/** Whether an index finds the active notifications of the users or projects, so that no period has to limit them. */
export function isActiveByIndex({
  statuses,
  projectIds,
  userIds,
}: Omit<PlatformNotificationFilter, 'since'>): boolean {
  return isOnlyActive(statuses) && (projectIds ?? userIds) != null;
}

/** How many notifications a count checks at most. */
export const MAX_CHECKED = 100_000;

type ListInput = FilterInput & PageInput & BranchInput;

/** Converts a filter to inputs, and to the branches by which an index finds most precisely what matches. */
export function toBranchFilter({ kinds, statuses, projectIds, userIds, since }: PlatformNotificationFilter) {
  const isActive = isOnlyActive(statuses);
  const byUser = userIds != null || undefined;
  const byProject = (!byUser && isActive && projectIds != null) || undefined;
  const byKind = !byUser && !byProject;
  const isEmpty = [kinds, statuses, projectIds, userIds].some((list) => list?.length === 0);
  const values = userIds ?? (byProject && projectIds) ?? kinds ?? notificationKinds;
  const input: FilterInput = {
    byUser,
    byProject,
    active: isActive && !byKind ? true : undefined,
    statuses: isActive && !byKind ? undefined : (statuses ?? undefined),
    kinds: byKind ? undefined : (kinds ?? undefined),
    projectIds: byProject ? undefined : (projectIds ?? undefined),
  };
  const isChecked = (input.statuses ?? input.kinds ?? input.projectIds) !== undefined;
  return { input, branches: { branches: isEmpty ? [] : [...new Set<string>(values)], since, isChecked } };
}

/** Selects by the indexes `notification_newest`, `notification_active`, `notification_of_project`, `notification_of_kind`. */
export function selectBranch({ param, has }: ReadParams<FilterInput>): BranchFilter<'Notification'> {
  const property = has('byUser') ? 'userId' : has('byProject') ? 'projectId' : 'kind';
  // A literal, because PostgreSQL uses a partial index only if the condition is a constant.
  const active = has('active') ? sql`status = 'active'` : sql`true`;
  return {
    table: 'Notification',
    range: sql`${sql.ref(property)} = ${branchValue} and ${active}`,
    matches: joinConditions([
      has('statuses') && sql`status = any(${param('statuses')})`,
      has('kinds') && sql`kind = any(${param('kinds')})`,
      has('projectIds') && sql`${sql.ref('projectId')} = any(${param('projectIds')})`,
    ]),
  };
}

/** The properties that a list reads in any case. */
const always = ['id', 'kind', 'requestState', 'userId', 'createdAt'] as const;

/** A notification of any user, with the selected properties. */
export type SelectedPlatformNotification = Selected<Notification, (typeof always)[number]>;

const list = definePageRead(
  (db, params: ReadParams<ListInput>) => {
    const selected = params.selected('Notification', always);
    return selectPageAcrossUsers(db, params, selectBranch(params), [...always, ...selected]).$call((page) =>
      selectProperties(page, always, selected),
    );
  },
  () => true,
);

/** Lists the notifications of all users, newest first, with the selected properties. */
export async function listAllNotifications(
  database: Database,
  filter: PlatformNotificationFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Listed<SelectedPlatformNotification>[]> {
  const { input, branches } = toBranchFilter(filter);
  return list(database, { ...input, ...toBranchInput(page, branches) }, selected);
}

const count = defineCount((db, params: ReadParams<ListInput>) =>
  selectCountAcrossUsers(db, params, selectBranch(params)),
);

/** Counts the notifications that match a filter, up to a maximum. */
export async function countAllNotifications(
  database: Database,
  filter: PlatformNotificationFilter,
): Promise<number> {
  const { input, branches } = toBranchFilter(filter);
  return count(database, { ...input, ...toCountInput(branches, MAX_CHECKED) });
}
