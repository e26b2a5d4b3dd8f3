import { type EntityManager, IsolationLevel } from '@mikro-orm/postgresql';
import { type Kysely, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { getKysely, type Tables } from '../database/database.ts';
import { readSystemErrorCode } from '../errors/failure.ts';
import type { Log } from '../log.ts';
import { type Repeating, repeat } from '../repeat.ts';
import { type Time, toTime } from '../values/time.ts';
import { addCounts } from './counts.ts';
import { recountUsers } from './recount-users.ts';

/** The maximum number of users that a step looks for changes, and of those whose records it counts. */
const MAX_USERS = 2000;
const MAX_RECOUNTED = 200;

/** Time from the beginning of a sweep to the next one, if its steps do not take longer. */
const SWEEP_INTERVAL_MS = 5000;

/** After a step, no process begins another for this many times as long as it took: at most a tenth of the time is used. */
const REST_FACTOR = 9;

/** Every user is counted again after this time, even without a change. */
const MAX_AGE_MS = 6 * 3_600_000;

/** PostgreSQL's `serialization_failure`. */
const SERIALIZATION_FAILURE = '40001';

/**
 * Takes the next step of a sweep over all users, in the order of their IDs, which updates the statistics from the users
 * that changed. All processes share the sweeps of a database, whose state is in the row of `Statistics`. Returns the
 * milliseconds until the next step is due; `undefined` if this one is not, or if another process takes it.
 */
export async function takeStep(em: EntityManager, signal: AbortSignal): Promise<number | undefined> {
  // Without a lock, so that it also works on a standby.
  if ((await selectDue(getKysely(em)).executeTakeFirst()) === undefined) return undefined;
  try {
    // All statements of a step read one snapshot, so the counts of a user belong exactly to the user's revisions.
    const isolationLevel = IsolationLevel.REPEATABLE_READ;
    return await em.transactional((inner) => takeDueStep(inner, signal), { isolationLevel });
  } catch (error) {
    // Another process completed the step between the snapshot and the lock.
    if (readSystemErrorCode(error) === SERIALIZATION_FAILURE) return undefined;
    throw error;
  }
}

async function takeDueStep(em: EntityManager, signal: AbortSignal): Promise<number | undefined> {
  const started = performance.now();
  const db = getKysely(em);
  const state = await selectDue(db).forUpdate().skipLocked().executeTakeFirst();
  if (state === undefined) return undefined;
  // Otherwise PostgreSQL may read all records of a user and sort them, for every page.
  await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`.execute(
    db,
  );
  const now = Date.now();
  const times = { now: toTime(new Date(now)), staleBefore: toTime(new Date(now - MAX_AGE_MS)) };
  const { changed, last } = await findChangedUsers(db, state.sweptTo, times.staleBefore);
  const difference = changed.length === 0 ? {} : await recountUsers(em, changed, times, signal);
  const restMs = Math.ceil((performance.now() - started) * REST_FACTOR);
  const rested = sql<Time>`clock_timestamp() + ${restMs} * interval '1 ms'`;
  // Rounded down, because changes that were committed after this time may not be counted.
  const startedAt = sql<Time>`coalesce(${sql.ref('sweepStartedAt')}, date_trunc('milliseconds', now()))`;
  const nextSweep = sql<Time>`greatest(${rested}, ${startedAt} + ${SWEEP_INTERVAL_MS} * interval '1 ms')`;
  await db
    .updateTable('Statistics')
    .set({ counts: addCounts(state.counts, difference) })
    .set(
      last === undefined
        ? { asOf: startedAt, sweepStartedAt: null, sweptTo: '', dueAt: nextSweep }
        : { sweepStartedAt: startedAt, sweptTo: last, dueAt: rested },
    )
    .execute();
  return last === undefined ? Math.max(restMs, SWEEP_INTERVAL_MS) : restMs;
}

function selectDue(db: Kysely<Tables>) {
  return db.selectFrom('Statistics').select(['counts', 'sweptTo']).where('dueAt', '<=', sql<Time>`now()`);
}

/** The users of a step whose records may have changed, and the last user of the step; undefined at the end of a sweep. */
type Step = { changed: readonly string[]; last: string | undefined };

/**
 * Finds users who have no counts or other revisions than their counts, whose deliveries may have changed without a
 * revision, whose counts are old, or who were deleted. The first users of both tables are the first users of their
 * union.
 */
async function findChangedUsers(db: Kysely<Tables>, after: string, staleBefore: Time): Promise<Step> {
  const { ref } = sql;
  const columns = sql.join(['epoch', 'notifications', 'workspaces', 'editorAuth'].map((name) => ref(name)));
  const first = (table: 'UserRevision' | 'UserStatistics', selected = sql``) =>
    sql`(select ${ref('userId')} as id, row(${columns}) as revisions ${selected} from ${sql.table(table)}
      where ${ref('userId')} > ${after} order by ${ref('userId')} limit ${MAX_USERS})`;
  const stored = first(
    'UserStatistics',
    sql`, ${ref('isSettled')} as settled, ${ref('countedAt')} as counted`,
  );
  const { rows } = await sql<{ number: number; last: string | null; changed: string[] | null }>`
    select count(*)::int as number, max(id) as last,
           (array_agg(id::text order by id) filter (where changed))[1:${MAX_RECOUNTED}] as changed
    from (
      select coalesce(current.id, stored.id) as id,
             (current.revisions is distinct from stored.revisions or not settled or counted < ${staleBefore}) as changed
      from ${first('UserRevision')} as current full join ${stored} as stored on stored.id = current.id
      order by 1 limit ${MAX_USERS}
    ) as scanned`.execute(db);
  const [{ number, last, changed } = { number: 0, last: null, changed: null }] = rows;
  const users = changed ?? [];
  if (users.length === MAX_RECOUNTED) return { changed: users, last: users.at(-1) };
  return { changed: users, last: number < MAX_USERS ? undefined : (last ?? undefined) };
}

/** Takes the steps of sweeps that are due and that no other process takes, until it is stopped. */
export function startSweeping(database: Database, log: Log): Repeating {
  return repeat(async (signal) => (await takeStep(database.fork(), signal)) ?? SWEEP_INTERVAL_MS, {
    log,
    message: 'updating the statistics failed; retrying',
    retryMs: SWEEP_INTERVAL_MS,
  });
}
