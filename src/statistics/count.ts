import { type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import { type Database, getKysely } from '../database/database.ts';
import { breakConnection, endSession, poolOptions } from '../database/pool.ts';
import { shownState } from '../delivery/shown-deliveries.ts';
import type { Log } from '../log.ts';
import { type Repeating, repeat } from '../repeat.ts';
import type { Time } from '../values/time.ts';
import type { Counts } from './statistics.entity.ts';

/** Far longer than the timeout of a request. PostgreSQL counts about a million notifications in a second. */
const TIMEOUT_MS = 60_000;

/** Minimum time between the beginnings of two counts. It is at least this many times as long as the first one takes. */
const INTERVAL_MS = 300_000;
const INTERVAL_FACTOR = 10;

/** How often each process looks whether a count is due. */
const POLL_MS = 10_000;

const count = (from: RawBuilder<unknown>, ...columns: RawBuilder<unknown>[]) => {
  const numbers = sql.join(columns.map((_column, index) => sql.lit(index + 1)));
  return sql`(select coalesce(json_agg(groups), '[]') from (select ${sql.join(columns)}, count(*) as count
    from ${from} group by ${numbers} order by ${numbers}) as groups)`;
};

/** One statement, so that all counts are from one snapshot, which is not older than `asOf`. */
const countAll = sql`
  select date_trunc('milliseconds', statement_timestamp()) as "asOf", json_build_object(
    'notifications', ${count(sql.table('Notification'), sql`kind collate "C" as kind`, sql`status collate "C" as status`)},
    'workspaces', ${count(sql.table('Workspace'), sql`status collate "C" as status`)},
    'editorCredentials', ${count(
      sql`${sql.table('EditorCredential')} where ciphertext is not null`,
      sql`${sql.ref('keyId')} as "keyId"`,
      sql`${sql.ref('reauthReason')} is not null as "needsReauth"`,
    )},
    'deliveries', ${count(sql.table('Delivery'), sql`channel collate "C" as channel`, sql`(${shownState}) collate "C" as state`)}
  ) as counts`;

/** Returns the milliseconds from the end of a count, which took so many, to the beginning of the next one. */
export function findRest(tookMs: number): number {
  return Math.ceil(Math.max(INTERVAL_MS, INTERVAL_FACTOR * tookMs) - tookMs);
}

/** Counts all records and stores their numbers. Rejects if that takes longer than {@link TIMEOUT_MS}. */
export async function countRecords(database: Database, signal: AbortSignal): Promise<void> {
  const started = performance.now();
  const { sql: text } = countAll.compile(getKysely(database.fork()));
  // The connections of the pools have the timeouts of requests.
  const options = poolOptions({ url: database.url, poolSize: 1, timeoutMs: TIMEOUT_MS });
  const client = new pg.Client({ ...options, query_timeout: TIMEOUT_MS + 1000 });
  client.on('error', () => undefined);
  const abort = () => breakConnection(client);
  signal.addEventListener('abort', abort);
  try {
    await client.connect();
    const { rows } = await client.query<{ asOf: Time; counts: Counts }>(text);
    const restMs = findRest(performance.now() - started);
    await getKysely(database.fork())
      .updateTable('Statistics')
      .set({ ...rows[0], dueAt: sql<Time>`now() + ${restMs} * interval '1 ms'` })
      .execute();
  } finally {
    signal.removeEventListener('abort', abort);
    await endSession(client, 1000);
  }
}

/**
 * If a count is due, postpones it by ten times the longest time that one can take, and returns true. Only the process that
 * did this counts, then sets when the next one is due. Counts that fail take at most a tenth of the time too.
 */
async function takeTurn(database: Database): Promise<boolean> {
  const db = getKysely(database.fork());
  const isDue = sql<boolean>`${sql.ref('dueAt')} <= now()`;
  // Without a change at first, so that this also works on a standby.
  if ((await db.selectFrom('Statistics').select('isOnly').where(isDue).executeTakeFirst()) === undefined)
    return false;
  const dueAt = sql<Time>`now() + ${INTERVAL_FACTOR * TIMEOUT_MS} * interval '1 ms'`;
  const { numUpdatedRows } = await db
    .updateTable('Statistics')
    .set({ dueAt })
    .where(isDue)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Counts all records whenever it is due, unless another process does, until it is stopped. */
export function startCounting(database: Database, log: Log): Repeating {
  const step = async (signal: AbortSignal) => {
    if (await takeTurn(database)) await countRecords(database, signal);
    return POLL_MS;
  };
  const message = 'counting the records for the statistics failed; the last counts are shown';
  return repeat(step, { log, message, retryMs: POLL_MS });
}
