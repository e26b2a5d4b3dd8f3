import { sql } from 'kysely';
import { type Database, getKysely } from '../database/database.ts';
import { joinConditions, type Page } from '../database/page.ts';
import {
  branchValue,
  countAcrossUsers,
  type ListAcrossUsers,
  selectPageAcrossUsers,
} from '../database/page-across-users.ts';
import { chooseProperties, selectProperties } from '../database/read.ts';
import { valuesOf } from '../database/statement.ts';
import type { Time } from '../values/time.ts';
import { ofAllUsers } from './notification.entity.ts';
import {
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

/** Whether no period has to limit a list: it has only open requests, or only active notifications of users or projects. */
export function coversAnyTime({ userIds, ...filter }: Omit<PlatformNotificationFilter, 'since'>): boolean {
  const { active, open } = toFilterInput(filter);
  return open ?? (active !== undefined && (filter.projectIds ?? userIds) != null);
}

/**
 * Returns the list of a filter, each user of which is a branch. It is read by the indexes `notification_newest` and
 * `notification_active`, or `notification_of_all` and `notification_open`.
 */
export function toNotificationList({
  userIds,
  since,
  createdBefore,
  ...filter
}: PlatformNotificationFilter): ListAcrossUsers<'Notification'> {
  const conditions = toFilterInput(filter);
  const { active, open, statuses, kinds, projectIds, requestStates } = conditions;
  const isEmpty = [statuses, kinds, projectIds, requestStates].some((list) => list?.length === 0);
  const range =
    userIds == null
      ? [sql<boolean>`${sql.raw(ofAllUsers)}`, open && isOpenRequest]
      : [sql<boolean>`${sql.ref('userId')} = ${branchValue}`, active && isActive];
  const checked = userIds == null ? active && isActive : open && isOpenRequest;
  return {
    table: 'Notification',
    branches: isEmpty ? [] : [...new Set(userIds ?? [''])],
    createdFrom: since,
    createdBefore,
    range: sql`${sql.join(
      range.filter((condition) => condition !== undefined),
      sql` and `,
    )}`,
    matches: joinConditions([checked ?? false, ...selectChecked(valuesOf(conditions))]),
  };
}

/** The properties that a list reads in any case. */
const always = ['id', 'kind', 'requestState', 'userId', 'createdAt'] as const;

/** Lists the notifications of all users, newest first, with the selected properties. */
export function listAllNotifications(
  database: Database,
  filter: PlatformNotificationFilter,
  page: Page,
  selected: ReadonlySet<string> | undefined,
) {
  const chosen = chooseProperties(database, 'Notification', always, selected);
  const list = toNotificationList(filter);
  return selectPageAcrossUsers(getKysely(database.fork()), list, page, [...always, ...chosen])
    .$call((found) => selectProperties(found, always, chosen))
    .execute();
}

/** How many records a count checks at most, if conditions are checked for each. */
export const MAX_CHECKED = 100_000;

/** Counts the notifications of all users. */
export function countAllNotifications(
  database: Database,
  filter: PlatformNotificationFilter,
): Promise<number> {
  return countAcrossUsers(getKysely(database.fork()), toNotificationList(filter), MAX_CHECKED);
}
