import { type Kysely, sql } from 'kysely';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { type EntityManager, query, type Tables } from '../database/database.ts';
import type { Writer } from '../live/announcer.ts';
import type { Log } from '../log.ts';
import { type Time, toTime } from '../values/time.ts';

/** Notifications removed in one transaction. */
const BATCH = 500;

const EVERY_MS = 3_600_000;

const DAY_MS = 86_400_000;

/** Removes old notifications at once and then every hour, until it is stopped; 0 days keep them for ever. */
export function startRetention(writer: Writer, days: number, log: Log): { stop(): Promise<void> } {
  if (days === 0) return { stop: async () => undefined };
  let isStopped = false;
  const run = async () => {
    try {
      let removed = 0;
      const before = toTime(new Date(Date.now() - days * DAY_MS));
      while (!isStopped) {
        const batch = await removeBatch(writer, before);
        if (batch === undefined) break;
        removed += batch;
      }
      await removeResolutions(writer.em, before);
      if (removed > 0) log.info({ removed, days }, 'removed old notifications');
    } catch (error) {
      log.warn({ err: error }, 'removing old notifications failed; trying again in an hour');
    }
  };
  let running = run();
  const timer = setInterval(() => {
    running = running.then(run);
  }, EVERY_MS);
  return {
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

/**
 * Removes some of one user's notifications that were resolved or dismissed before a time, and answers how many;
 * undefined where there are none left, or another gateway is removing them: one does it at a time.
 */
export async function removeBatch({ em, announce }: Writer, before: Time): Promise<number | undefined> {
  const batch = await query(em)
    .transaction()
    .execute((db) => deleteBatch(db, before));
  if (batch === undefined) return undefined;
  announce({ user: batch.userId, topic: 'notifications', revision: batch.revision });
  return batch.removed;
}

type Batch = { userId: string; revision: number; removed: number };

async function deleteBatch(db: Kysely<Tables>, before: Time): Promise<Batch | undefined> {
  const lock = sql<{ free: boolean }>`select pg_try_advisory_xact_lock(${advisoryLocks.retention}) as free`;
  const { rows } = await lock.execute(db);
  if (!rows[0]?.free) return undefined;
  // Locked as found: a user who was deleted meanwhile is not brought back.
  const owner = await retired(db, before)
    .innerJoin('UserRevision', 'UserRevision.userId', 'Notification.userId')
    .select('UserRevision.userId')
    .orderBy('updatedAt')
    .limit(1)
    .forUpdate('UserRevision')
    .executeTakeFirst();
  if (owner === undefined) return undefined;
  const { userId } = owner;
  const { numDeletedRows } = await db
    .deleteFrom('Notification')
    .where('userId', '=', userId)
    .where('id', 'in', retired(db, before).select('id').where('userId', '=', userId).limit(BATCH))
    .executeTakeFirstOrThrow();
  // Whoever holds the list by its revision must see that it changed.
  const { notifications } = await db
    .updateTable('UserRevision')
    .set((eb) => ({ notifications: eb('notifications', '+', 1) }))
    .where('userId', '=', userId)
    .returning('notifications')
    .executeTakeFirstOrThrow();
  return { userId, revision: notifications, removed: Number(numDeletedRows) };
}

/** Forgets up to when tasks were resolved if that was reported as long ago. */
async function removeResolutions(em: EntityManager, before: Time): Promise<void> {
  await query(em).deleteFrom('TaskResolution').where('updatedAt', '<', before).execute();
}

function retired(db: Kysely<Tables>, before: Time) {
  return db.selectFrom('Notification').where('status', '<>', 'active').where('updatedAt', '<', before);
}
