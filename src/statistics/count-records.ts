import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { shownState } from '../delivery/shown-deliveries.ts';
import { addCounts, type Counts, type Subject } from './counts.ts';

/** The number of records that a statement may read. The records of more users or of a larger user take several. */
export const MAX_RECORDS = 10_000;

/** How the records of a user are read in pages: in the order of `key`, which the primary key or an index finds. */
type Source = {
  table: 'Notification' | 'Workspace' | 'EditorCredential' | 'Delivery';
  key: string;
  type: 'text' | 'bigint';
  /** A value before all keys. */
  start: string;
  /** What is counted separately; null for records that are not counted. */
  group: RawBuilder<string | null>;
};

const sources: Readonly<Record<Subject, Source>> = {
  notifications: {
    table: 'Notification',
    key: 'id',
    type: 'text',
    start: '',
    group: sql`kind || '/' || status`,
  },
  // By `revision` instead of `id`, because every UUID can be an ID, so no start precedes them all.
  workspaces: { table: 'Workspace', key: 'revision', type: 'bigint', start: '-1', group: sql`status` },
  editorCredentials: {
    table: 'EditorCredential',
    key: 'version',
    type: 'text',
    start: '',
    group: sql`case when ${sql.ref('reauthReason')} is null then 'connected' else 'needs_reauth' end || '/' || ${sql.ref('keyId')}`,
  },
  // A page ends with all deliveries of its last notification.
  deliveries: {
    table: 'Delivery',
    key: 'notificationId',
    type: 'text',
    start: '',
    group: sql`channel || '/' || ${shownState}`,
  },
};

/** Counts the records of one subject for each of these users, page by page. */
export async function countRecords(
  db: Kysely<Tables>,
  subject: Subject,
  users: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Counts>> {
  const counts = new Map<string, Counts>();
  const { start } = sources[subject];
  let waiting = new Map(users.map((user) => [user, start]));
  while (waiting.size > 0) {
    signal.throwIfAborted();
    const size = Math.ceil(MAX_RECORDS / waiting.size);
    const next = new Map<string, string>();
    for (const { user, group, count, read, last } of await countPages(db, sources[subject], waiting, size)) {
      if (group !== null)
        counts.set(user, addCounts(counts.get(user) ?? {}, { [`${subject}/${group}`]: count }));
      if (read >= size) next.set(user, last);
    }
    waiting = next;
  }
  return counts;
}

/** Counts a page of each user. `after` has the last key of the user's previous page. */
async function countPages(
  db: Kysely<Tables>,
  { table, key, type, group }: Source,
  after: ReadonlyMap<string, string>,
  size: number,
) {
  const column = sql.ref(key);
  const { rows } = await sql<{
    user: string;
    group: string | null;
    count: number;
    read: number;
    last: string;
  }>`
    select given.owner as "user", page."group", count(*)::int as count,
           (sum(count(*)) over owned)::int as read, (max(max(page.key)) over owned)::text as last
    from unnest(${[...after.keys()]}::text[], ${[...after.values()]}::text[]) as given (owner, after)
    cross join lateral (
      select ${column} as key, ${group} as "group" from ${sql.table(table)}
      where ${sql.ref('userId')} = given.owner and ${column} > given.after::${sql.raw(type)}
      order by ${column} fetch first ${size} rows with ties
    ) as page
    group by given.owner, page."group"
    window owned as (partition by given.owner)`.execute(db);
  return rows;
}
