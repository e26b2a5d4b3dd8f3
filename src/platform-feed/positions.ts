import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { type Database, getKysely } from '../database/database.ts';
import type { Announce } from '../live/announcer.ts';
import { ALL_USERS } from '../live/hub.ts';
import type { Log } from '../log.ts';

/** The maximum number of events that get a position in one transaction. */
const BATCH_SIZE = 1000;

/** The minimum time between two searches for events without a position. */
const INTERVAL_MS = 50;

/** Gives positions to committed events. */
export type Positioning = {
  /** Notices that a change of this gateway wrote events. */
  notice(): void;
  stop(): Promise<void>;
};

/** The dependencies of giving positions. */
type PositioningOptions = { database: Database; announce: Announce; log: Log; sweepMs: number };

/**
 * Gives positions to committed events: after changes of this gateway, and every `sweepMs`, which finds the events of
 * processes that have stopped since. Transactions that commit late get later positions than those that started after
 * them, so that a reader of the feed who has seen a position has seen all before it.
 */
export function startPositioning({ database, announce, log, sweepMs }: PositioningOptions): Positioning {
  const stopping = new AbortController();
  let sleep = new AbortController();
  const finished = run();
  return {
    notice() {
      // Aborting again would create an error for every change.
      if (!sleep.signal.aborted) sleep.abort();
    },
    async stop() {
      stopping.abort();
      sleep.abort();
      await finished;
    },
  };

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Replaced before the search, so that a change during the search leads to another one.
      sleep = new AbortController();
      const { signal } = sleep;
      const isDone = await givePositions().catch((error: unknown) => {
        log.warn({ err: error }, 'giving positions to platform events failed; retrying at the next sweep');
        return true;
      });
      await pause(INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (isDone) await pause(sweepMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns whether all events that were found got a position. */
  async function givePositions(): Promise<boolean> {
    const em = database.fork();
    if (!(await hasUnpositioned(em))) return true;
    const given = await em.transactional(positionBatch);
    if (given === undefined) return false;
    if (given.count > 0) announce({ user: ALL_USERS, topic: 'platformEvents', revision: given.lastPosition });
    return given.count < BATCH_SIZE;
  }
}

/** Sorts by the index of such events, because PostgreSQL may expect to find one sooner in the table. */
async function hasUnpositioned(em: EntityManager): Promise<boolean> {
  const found = await getKysely(em)
    .selectFrom('PlatformEvent')
    .select('id')
    .where('position', 'is', null)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Returns the seconds since the oldest event that has no position; 0 if there is none. */
export async function readFeedLag(em: EntityManager): Promise<number> {
  const oldest = await getKysely(em)
    .selectFrom('PlatformEvent')
    .select(sql<number>`extract(epoch from clock_timestamp() - at)::float`.as('seconds'))
    .where('position', 'is', null)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return Math.max(0, oldest?.seconds ?? 0);
}

/** Gives positions to a batch. Returns `undefined` if another gateway is doing so. */
async function positionBatch(
  em: EntityManager,
): Promise<{ count: number; lastPosition: number } | undefined> {
  const db = getKysely(em);
  // Otherwise PostgreSQL may read the whole table to find the events of a batch.
  const lock = sql<{ free: boolean }>`
    select pg_try_advisory_xact_lock(${advisoryLocks.positions}) as free,
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`;
  const { rows } = await lock.execute(db);
  if (!rows[0]?.free) return undefined;
  // The snapshot of this statement begins after the lock was acquired, so it includes what the previous holder did. Events
  // that a deletion of their user has locked are skipped, because that transaction may take long.
  const positioned = await db
    .with('found', (db) =>
      db
        .selectFrom('PlatformEvent')
        .select('id')
        .where('position', 'is', null)
        .orderBy('id')
        .limit(BATCH_SIZE)
        .forUpdate()
        .skipLocked(),
    )
    .with('numbered', (db) =>
      db.selectFrom('found').select(['id', sql<number>`row_number() over (order by id)`.as('number')]),
    )
    .with('counter', (db) =>
      db
        .updateTable('PlatformFeed')
        .set((eb) => ({
          lastPosition: sql<number>`${eb.ref('lastPosition')} + (select count(*) from found)`,
        }))
        .where(sql<boolean>`exists (select from found)`)
        .returning('lastPosition'),
    )
    .updateTable('PlatformEvent')
    .from('numbered')
    .set({
      position: sql<number>`(select ${sql.ref('lastPosition')} from counter) - (select count(*) from found) + number`,
    })
    .whereRef('PlatformEvent.id', '=', 'numbered.id')
    .returning('position')
    .execute();
  const positions = positioned.map(({ position }) => position ?? 0);
  return { count: positions.length, lastPosition: Math.max(0, ...positions) };
}
