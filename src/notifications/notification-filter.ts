import { sql } from 'kysely';
import { type Combinations, equalsIfGiven, type Page } from '../database/page.ts';
import type { ReadParams } from '../database/read.ts';
import type { Position } from '../values/cursor.ts';
import type { Time } from '../values/time.ts';
import {
  type NotificationKind,
  type NotificationStatus,
  notificationKinds,
  notificationStatuses,
} from './notification.enums.ts';

/** A filter of a user's notifications. An omitted condition, null or an empty list matches everything. */
export type NotificationFilter = {
  status?: readonly NotificationStatus[] | null | undefined;
  kind?: readonly NotificationKind[] | null | undefined;
  projectId?: string | null | undefined;
  taskId?: string | null | undefined;
  /** Created at this time or later. */
  createdFrom?: Time | null | undefined;
  /** Created before this time. */
  createdBefore?: Time | null | undefined;
};

/**
 * A notification matches if it belongs to the given project and task and, for some `i`, has the kind `kinds[i]` and the
 * status `statuses[i]`. `kinds` and `statuses` are undefined if the filter has no conditions, or only conditions on the
 * times.
 */
export type FilterInput = {
  userId: string;
  kinds: readonly NotificationKind[] | undefined;
  statuses: readonly NotificationStatus[] | undefined;
  projectId: string | undefined;
  taskId: string | undefined;
};

/** Converts all conditions but the times to params. */
export function toFilterInput(
  userId: string,
  { status, kind, projectId, taskId }: NotificationFilter,
): FilterInput {
  const scope = { userId, projectId: projectId ?? undefined, taskId: taskId ?? undefined };
  if (!status?.length && !kind?.length && projectId == null && taskId == null) {
    return { ...scope, kinds: undefined, statuses: undefined };
  }
  const statuses = new Set(status?.length ? status : notificationStatuses);
  const kinds = new Set(kind?.length ? kind : notificationKinds);
  const combinations = [...kinds].flatMap((kind) => [...statuses].map((status) => ({ kind, status })));
  return {
    ...scope,
    kinds: combinations.map(({ kind }) => kind),
    statuses: combinations.map(({ status }) => status),
  };
}

/** Whether the inputs contain a filter besides the user and the times. */
export function hasFilter({ has }: Pick<ReadParams<FilterInput>, 'has'>): boolean {
  return has('kinds');
}

/**
 * Returns the combinations of kind and status to read, which PostgreSQL finds by an index on (userId, kind, status,
 * createdAt, id). If the filter names a task or a project, the index also contains its column, after userId.
 */
export function toCombinations(params: ReadParams<FilterInput>): Combinations {
  const { param, has } = params;
  const isInProject = equalsIfGiven(params, 'projectId');
  // `is true` keeps PostgreSQL from using the index by project, which would read the whole project to find the task.
  const isChosen = has('taskId')
    ? sql`${sql.ref('taskId')} = ${param('taskId')} and (${isInProject}) is true`
    : isInProject;
  return {
    from: sql`unnest(${param('kinds')}::text[], ${param('statuses')}::text[]) as wanted (kind, status)`,
    table: 'Notification',
    matches: sql`${sql.ref('userId')} = ${param('userId')} and ${isChosen} and kind = wanted.kind and status = wanted.status`,
  };
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
