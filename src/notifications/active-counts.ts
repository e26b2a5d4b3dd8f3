import { sql } from 'kysely';
import { defineBatchedRead } from '../database/batched-read.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';
import { type NotificationKind, notificationKinds } from './notification.enums.ts';
import { isOpenRequest } from './notification-filter.ts';

/** The number of a user's active notifications, in total and by kind. */
export type ActiveCounts = {
  userId: string;
  total: number;
  byKind: { kind: NotificationKind; count: number }[];
};

/**
 * Unlike other counts, runs on the connections for short reads, so that live events, which contain the counts, do not
 * wait for long lists.
 */
const findActive = defineListRead((db, { param }: ReadParams<{ users: readonly string[] }>) =>
  db
    .selectFrom('Notification')
    .select(['userId', 'kind', (eb) => eb.fn.countAll<number>().as('count')])
    .where((eb) => eb('userId', '=', eb.fn.any(param('users', 'text[]'))))
    .where('status', '=', sql.lit('active' as const))
    .groupBy(['userId', 'kind']),
);

const findOpen = defineListRead((db, { param }: ReadParams<{ users: readonly string[] }>) =>
  db
    .selectFrom('Notification')
    .select(['userId', (eb) => eb.fn.countAll<number>().as('count')])
    .where((eb) => eb('userId', '=', eb.fn.any(param('users', 'text[]'))))
    .where(isOpenRequest)
    .groupBy('userId'),
);

/** Counts a user's open requests, including those of dismissed notifications. */
export const countOpenRequests = defineBatchedRead<string, { count: number }>(async (database, users) => {
  const counts = new Map((await findOpen(database, { users })).map(({ userId, count }) => [userId, count]));
  return users.map((user) => ({ count: counts.get(user) ?? 0 }));
});

/** Counts a user's active notifications by kind, in the order of {@link notificationKinds}. */
export const countActive = defineBatchedRead<string, ActiveCounts>(async (database, users) => {
  const counts = new Map(
    (await findActive(database, { users })).map(({ userId, kind, count }) => [`${kind} ${userId}`, count]),
  );
  return users.map((user) => toActiveCounts(user, (kind) => counts.get(`${kind} ${user}`)));
});

/** Counts the active notifications of the user `owner` by kind, as an object, as the column `counts` of a statement. */
export const selectCounts = sql`, (select json_object_agg(kind, count) from (
  select kind, count(*) from ${sql.table('Notification')}
    where ${sql.ref('userId')} = owner and status = 'active' group by kind) as active) as counts`;

/** Returns counts of all kinds, in the order of {@link notificationKinds}. */
export function toActiveCounts(
  userId: string,
  countOf: (kind: NotificationKind) => number | undefined,
): ActiveCounts {
  const byKind = notificationKinds.map((kind) => ({ kind, count: countOf(kind) ?? 0 }));
  return { userId, total: byKind.reduce((sum, { count }) => sum + count, 0), byKind };
}
