import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { type Database, getKysely } from '../database/database.ts';
import type { Log } from '../log.ts';
import { type Repeating, repeat } from '../repeat.ts';
import { type Time, toTime } from '../values/time.ts';

/** How long events are kept. */
const RETENTION_DAYS = 7;

/** The maximum number of events that one transaction deletes. */
const BATCH_SIZE = 1000;

const INTERVAL_MS = 3_600_000;

const DAY_MS = 86_400_000;

/** Immediately, and then every hour until it is stopped, deletes the events that are older than seven days. */
export function startFeedRetention(database: Database, log: Log): Repeating {
  const run = async (signal: AbortSignal) => {
    const before = toTime(new Date(Date.now() - RETENTION_DAYS * DAY_MS));
    let deleted = BATCH_SIZE;
    while (!signal.aborted && deleted === BATCH_SIZE)
      deleted = await deleteOldEvents(database.fork(), before);
    return INTERVAL_MS;
  };
  const message = 'deleting old platform events failed; retrying in an hour';
  return repeat(run, { log, message, retryMs: INTERVAL_MS });
}

/**
 * Deletes a batch of the oldest events, up to the first one that is not from before a time, and stores up to which
 * position events were deleted. Returns their number.
 */
export async function deleteOldEvents(em: EntityManager, before: Time): Promise<number> {
  const [deleted] = await getKysely(em)
    .with('oldest', (db) =>
      // Events that a deletion of their user has locked are skipped, so that the two cannot deadlock.
      db
        .selectFrom('PlatformEvent')
        .select(['id', 'position', 'at'])
        .where('position', 'is not', null)
        .orderBy('position')
        .limit(BATCH_SIZE)
        .forUpdate()
        .skipLocked(),
    )
    .with('aged', (db) =>
      db
        .selectFrom('oldest')
        .select([
          'id',
          'position',
          sql<boolean>`bool_and(at < ${before}) over (order by position)`.as('isOld'),
        ]),
    )
    .with('deleted', (db) =>
      db
        .deleteFrom('PlatformEvent')
        .where('id', 'in', (eb) => eb.selectFrom('aged').select('id').where('isOld', '=', true))
        .returning('position'),
    )
    .with('end', (db) =>
      db
        .selectFrom('deleted')
        .select([sql<number>`max(position)`.as('last'), sql<number>`count(*)`.as('count')]),
    )
    .updateTable('PlatformFeed')
    .from('end')
    .set({ deletedTo: sql<number>`greatest(${sql.ref('deletedTo')}, last)` })
    .where('count', '>', 0)
    .returning('count')
    .execute();
  return deleted?.count ?? 0;
}
