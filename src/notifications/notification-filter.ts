import { type RawBuilder, sql } from 'kysely';
import { type Filter, joinConditions, type Page, type PageInput } from '../database/page.ts';
import type { ReadParams } from '../database/read.ts';
import type { Position } from '../values/cursor.ts';
import type { Time } from '../values/time.ts';
import type { RequestState } from './answers/answer.enums.ts';
import { isOpenRequest } from './answers/settle-request.ts';
import {
  isOnlyActive,
  type NotificationKind,
  type NotificationStatus,
  notificationKinds,
  notificationStatuses,
} from './notification.enums.ts';

/** A filter of a user's notifications. An omitted condition or null matches everything, an empty list nothing. */
export type NotificationFilter = {
  ids?: readonly string[];
  statuses?: readonly NotificationStatus[] | null | undefined;
  kinds?: readonly NotificationKind[] | null | undefined;
  projectIds?: readonly string[] | null | undefined;
  taskIds?: readonly string[] | null | undefined;
  requestStates?: readonly RequestState[] | null | undefined;
  /** Created at this time or later. */
  createdFrom?: Time | null | undefined;
  /** Created before this time. */
  createdBefore?: Time | null | undefined;
};

/** A filter as inputs of a read, without its times. A condition that all notifications meet is undefined. */
export type FilterInput = {
  ids: readonly string[] | undefined;
  /** The only status is `active`. `statuses` is then undefined. */
  active: true | undefined;
  statuses: readonly NotificationStatus[] | undefined;
  kinds: readonly NotificationKind[] | undefined;
  projectIds: readonly string[] | undefined;
  taskIds: readonly string[] | undefined;
  /** The only state of requests is `open`. `requestStates` is then undefined. */
  open: true | undefined;
  requestStates: readonly RequestState[] | undefined;
};

/** Converts all conditions but the times to inputs. */
export function toFilterInput(filter: NotificationFilter): FilterInput {
  const statuses = toSubset(filter.statuses, notificationStatuses);
  const isActive = isOnlyActive(statuses);
  const states = filter.requestStates == null ? undefined : [...new Set(filter.requestStates)];
  const isOpen = states?.length === 1 && states[0] === 'open';
  return {
    ids: filter.ids,
    active: isActive || undefined,
    statuses: isActive ? undefined : statuses,
    kinds: toSubset(filter.kinds, notificationKinds),
    projectIds: filter.projectIds ?? undefined,
    taskIds: filter.taskIds ?? undefined,
    open: isOpen || undefined,
    requestStates: isOpen ? undefined : states,
  };
}

/** Returns the distinct values; `undefined` without a list, or if they are all values of the list. */
function toSubset<Value>(
  values: readonly Value[] | null | undefined,
  all: readonly Value[],
): readonly Value[] | undefined {
  const subset = [...new Set(values)];
  return values == null || subset.length === all.length ? undefined : subset;
}

/**
 * Selects notifications by an index: those with the IDs or of the tasks, the active ones, those with open requests, or
 * else all of the user. The other conditions are checked for each of them.
 */
export function selectMatching(
  { param, has }: ReadParams<FilterInput>,
  userId: RawBuilder<string>,
): Filter<'Notification'> {
  const user = sql`${sql.ref('userId')} = ${userId}`;
  // A literal, because PostgreSQL uses a partial index only if the condition is a constant.
  const active = has('active') ? sql`status = 'active'` : sql`true`;
  const task = has('taskIds') ? sql`${sql.ref('taskId')} = any(${param('taskIds')})` : sql`true`;
  const open = has('open') ? isOpenRequest : sql`true`;
  const ids = has('ids') ? sql`id = any(${param('ids')})` : sql`true`;
  return {
    table: 'Notification',
    range: sql`${user} and ${ids} and ${active} and ${task} and ${open}`,
    isUnsorted: has('taskIds') || has('ids') || has('open'),
    matches: joinConditions([
      has('statuses') && sql`status = any(${param('statuses')})`,
      has('kinds') && sql`kind = any(${param('kinds')})`,
      has('requestStates') && sql`${sql.ref('requestState')} = any(${param('requestStates')})`,
      has('projectIds') && sql`${sql.ref('projectId')} = any(${param('projectIds')})`,
    ]),
  };
}

/** Whether finding the notifications of a page may require reading many others. */
export function mayScanMany({
  statuses,
  kinds,
  projectIds,
  taskIds,
  open,
  requestStates,
  scanLimit,
}: FilterInput & PageInput): boolean {
  return (
    (taskIds ?? open) !== undefined ||
    (scanLimit === undefined && (statuses ?? kinds ?? projectIds ?? requestStates) !== undefined)
  );
}

/**
 * Limits a page to the times of a filter. `createdFrom` and `createdBefore` become positions with the ID `''`, which no
 * record has and which is less than every ID of the same time. If the page also has a cursor at the same end, only the
 * stricter position is used, because PostgreSQL starts an index scan at one position only.
 */
export function limitToTimes(page: Page, { createdFrom, createdBefore }: NotificationFilter): Page {
  // Lists are sorted newest first, so `after` is the upper limit and `before` the lower limit.
  const after = [page.after, toPosition(createdBefore)].filter((position) => position !== undefined);
  const before = [page.before, toPosition(createdFrom)].filter((position) => position !== undefined);
  return {
    ...page,
    after: after.toSorted(comparePositions).at(0),
    before: before.toSorted(comparePositions).at(-1),
  };
}

function toPosition(createdAt: Time | null | undefined): Position | undefined {
  return createdAt == null ? undefined : { createdAt, id: '' };
}

function comparePositions(one: Position, other: Position): number {
  return `${one.createdAt}${one.id}` < `${other.createdAt}${other.id}` ? -1 : 1;
}
