import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { NotificationKind, NotificationStatus } from '../notifications/notification.enums.ts';
import { addCounts, type Counts } from './counts.ts';

/** A user's changes of notifications: the revisions after `from`, up to `to`. */
export type Changes = { userId: string; from: number; to: number };

type Row = {
  user: string;
  kind: NotificationKind;
  status: NotificationStatus;
  previous: NotificationStatus | 'none' | null;
  count: number;
  read: number;
};

/**
 * Returns by how much changes of notifications changed the counts of each user. Omits users for whom this is unknown.
 *
 * Each change of a notification increments the revision by one, and a notification has the revision of its last change.
 * If there are as many notifications in a range of revisions as there are revisions, each of them changed once, so its
 * status before the change follows from its status and timestamps. It does not if the notification was restored or its
 * answer acknowledged. Otherwise a notification changed twice, or retention deleted some. A notification that was
 * resolved in the millisecond of its creation may have been stored as resolved.
 */
export async function countChanges(
  db: Kysely<Tables>,
  changes: readonly Changes[],
): Promise<ReadonlyMap<string, Counts>> {
  if (changes.length === 0) return new Map();
  const { ref } = sql;
  const given = sql.join([
    sql`${changes.map(({ userId }) => userId)}::text[]`,
    sql`${changes.map(({ from }) => from)}::bigint[]`,
    sql`${changes.map(({ to }) => to)}::bigint[]`,
  ]);
  const { rows } = await sql<Row>`
    select given.owner as "user", kind, status, previous, count(*)::int as count,
           (sum(count(*)) over (partition by given.owner))::int as read
    from unnest(${given}) as given (owner, first, last)
    cross join lateral (
      select kind, status, case status
          when 'active' then case when ${ref('updatedAt')} = ${ref('createdAt')} then 'none' end
          when 'resolved' then case when ${ref('resolvedAt')} > ${ref('createdAt')}
            and ${ref('updatedAt')} = ${ref('resolvedAt')} then 'active' end
          else case when ${ref('updatedAt')} > ${ref('dismissedAt')} then 'dismissed'
            when ${ref('resolvedAt')} is null then 'active' else 'resolved' end
        end as previous
      from ${sql.table('Notification')}
      where ${ref('userId')} = given.owner and revision > given.first and revision <= given.last
    ) as changed
    group by given.owner, kind, status, previous`.execute(db);

  const byUser = Map.groupBy(rows, ({ user }) => user);
  const known = changes.flatMap(({ userId, from, to }): [string, Counts][] => {
    const found = byUser.get(userId) ?? [];
    if (found[0]?.read !== to - from || found.some(({ previous }) => previous === null)) return [];
    const difference = found.reduce<Counts>((sum, { kind, status, previous, count }) => {
      const added = addCounts(sum, { [`notifications/${kind}/${status}`]: count });
      return previous === 'none'
        ? added
        : addCounts(added, { [`notifications/${kind}/${previous}`]: -count });
    }, {});
    return [[userId, difference]];
  });
  return new Map(known);
}
