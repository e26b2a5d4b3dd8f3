import { type RawBuilder, sql } from 'kysely';
import { type Filter, joinConditions, type PageInput, type Period } from '../database/page.ts';
import type { ReadParams } from '../database/read.ts';
import { type RequestState, requestStates, type StoredRequestState } from './answers/answer.enums.ts';
import {
  type NotificationKind,
  type NotificationStatus,
  notificationKinds,
  notificationStatuses,
} from './notification.enums.ts';

/** Whether a notification is an open request. */
export const isOpenRequest: RawBuilder<boolean> = sql`(${sql.ref('requestState')} = 'open')`;

/** Is always true, and finds the notifications of a task by an index in which the state precedes the task. */
export const isInAnyState = sql<boolean>`(${sql.ref('requestState')} = any(${sql.lit(`{${requestStates.join()}}`)}))`;

/** A filter of a user's notifications. An omitted condition or null matches everything, an empty list nothing. */
export type NotificationFilter = Period & {
  ids?: readonly string[];
  statuses?: readonly NotificationStatus[] | null | undefined;
  kinds?: readonly NotificationKind[] | null | undefined;
  projectIds?: readonly string[] | null | undefined;
  taskIds?: readonly string[] | null | undefined;
  requestStates?: readonly RequestState[] | null | undefined;
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
  requestStates: readonly StoredRequestState[] | undefined;
};

/** Converts all conditions but the times to inputs. */
export function toFilterInput(filter: NotificationFilter): FilterInput {
  const statuses = toSubset(filter.statuses, notificationStatuses);
  const states = toSubset(filter.requestStates, requestStates);
  const active = isOnly(statuses, 'active') || undefined;
  const open = isOnly(states, 'open') || undefined;
  return {
    ids: filter.ids,
    active,
    statuses: active ? undefined : statuses,
    kinds: toSubset(filter.kinds, notificationKinds),
    projectIds: filter.projectIds ?? undefined,
    taskIds: filter.taskIds ?? undefined,
    open,
    requestStates: open ? undefined : states,
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

function isOnly<Value>(values: readonly Value[] | undefined, value: Value): boolean {
  return values?.length === 1 && values[0] === value;
}

/** Whether a notification is active. A literal, because PostgreSQL uses a partial index only if the condition is a constant. */
export const isActive = sql<boolean>`status = 'active'`;

/** The conditions that no index is for. */
export const selectChecked = ({ param, has }: Pick<ReadParams<FilterInput>, 'param' | 'has'>) => [
  has('statuses') && sql<boolean>`status = any(${param('statuses')})`,
  has('kinds') && sql<boolean>`kind = any(${param('kinds')})`,
  has('requestStates') && sql<boolean>`${sql.ref('requestState')} = any(${param('requestStates')})`,
  has('projectIds') && sql<boolean>`${sql.ref('projectId')} = any(${param('projectIds')})`,
];

/**
 * Selects notifications by an index: those with the IDs or of the tasks, the active ones, those with open requests, or
 * else all of the user. The other conditions are checked for each of them.
 */
export function selectMatching(
  params: ReadParams<FilterInput>,
  userId: RawBuilder<string>,
): Filter<'Notification'> {
  const { param, has } = params;
  const user = sql`${sql.ref('userId')} = ${userId}`;
  const active = has('active') ? isActive : sql`true`;
  const task = has('taskIds') ? sql`${sql.ref('taskId')} = any(${param('taskIds')})` : sql`true`;
  const open = has('open') ? isOpenRequest : has('taskIds') ? isInAnyState : sql`true`;
  const ids = has('ids') ? sql`id = any(${param('ids')})` : sql`true`;
  return {
    table: 'Notification',
    range: sql`${user} and ${ids} and ${active} and ${task} and ${open}`,
    isUnsorted: has('taskIds') || has('ids') || has('open'),
    matches: joinConditions(selectChecked(params)),
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
