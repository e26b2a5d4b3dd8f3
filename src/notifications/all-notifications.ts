import { sql } from 'kysely';
import { joinConditions, type PageInput } from '../database/page.ts';
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
import type { Time } from '../values/time.ts';
import { ofAllUsers } from './notification.entity.ts';
import {
  type FilterInput as ConditionInput,
  isActive,
  isOpenRequest,
  type NotificationFilter,
  selectChecked,
  toFilterInput,
} from './notification-filter.ts';

/** A filter of the notifications of all users. An omitted condition or null matches everything, an empty list nothing. */
export type PlatformNotificationFilter = Pick<
  NotificationFilter,
  'kinds' | 'statuses' | 'projectIds' | 'requestStates' | 'createdBefore'
> & {
  userIds?: readonly string[] | null | undefined;
  /** Created at this time or later. Defaults to any time. */
  since: Time | undefined;
};

/** A filter as inputs of a read. If users are given, each is a branch. */
export type FilterInput = ConditionInput & { byUser: true | undefined };

/** Whether no period has to limit a list: it has only open requests, or only active notifications of users or projects. */
export function coversAnyTime({ userIds, ...filter }: Omit<PlatformNotificationFilter, 'since'>): boolean {
  const { active, open } = toFilterInput(filter);
  return open ?? (active !== undefined && (filter.projectIds ?? userIds) != null);
}

type ListInput = FilterInput & PageInput & BranchInput;

/** Converts a filter to inputs and branches. */
export function toBranchFilter({ userIds, since, createdBefore, ...filter }: PlatformNotificationFilter) {
  const conditions = toFilterInput(filter);
  const { active, open, statuses, kinds, projectIds, requestStates } = conditions;
  const lists = [statuses, kinds, projectIds, requestStates];
  const input: FilterInput = { ...conditions, byUser: userIds != null || undefined };
  const isEmpty = lists.some((list) => list?.length === 0);
  const branches: Branches = {
    branches: isEmpty ? [] : [...new Set(userIds ?? [''])],
    createdFrom: since,
    createdBefore,
    isChecked: [...lists, userIds == null ? active : open].some((condition) => condition !== undefined),
  };
  return { input, branches };
}

/** Selects by the indexes `notification_newest` and `notification_active`, or `notification_of_all` and `notification_open`. */
export function selectBranch(params: ReadParams<FilterInput>): BranchFilter<'Notification'> {
  const { has } = params;
  const active = has('active') && isActive;
  const open = has('open') && isOpenRequest;
  const [range, checked] = has('byUser')
    ? [sql<boolean>`${sql.ref('userId')} = ${branchValue} and ${active || sql`true`}`, open]
    : [sql<boolean>`${sql.raw(ofAllUsers)} and ${open || sql`true`}`, active];
  return { table: 'Notification', range, matches: joinConditions([checked, ...selectChecked(params)]) };
}

/** The properties that a list reads in any case. */
const always = ['id', 'kind', 'requestState', 'userId', 'createdAt'] as const;

/** The notifications of all users, with the selected properties. */
export const allNotifications = defineListAcrossUsers({
  toInput: toBranchFilter,
  selectPage(db, params: ReadParams<ListInput>) {
    const selected = params.selected('Notification', always);
    return selectPageAcrossUsers(db, params, selectBranch(params), [...always, ...selected]).$call((page) =>
      selectProperties(page, always, selected),
    );
  },
  selectCount: (db, params) => selectCountAcrossUsers(db, params, selectBranch(params)),
  maxChecked: 100_000,
});
