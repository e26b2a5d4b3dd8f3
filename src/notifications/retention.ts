import { type Kysely, sql } from 'kysely';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { type Database, getKysely, type Tables } from '../database/database.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { Log } from '../log.ts';
import { type Repeating, repeat } from '../repeat.ts';
import { type Time, toTime } from '../values/time.ts';

/** The maximum number of notifications that one transaction deletes. */
const BATCH_SIZE = 500;

/** The maximum number of task resolutions that one statement deletes. */
const RESOLUTIONS = 5000;

const INTERVAL_MS = 3_600_000;

const DAY_MS = 86_400_000;

/**
 * Immediately, and then every hour until it is stopped, deletes the settled notifications that were last changed more
 * than `days` days ago, except those whose request is open. With `days` 0, it deletes none.
 */
export function startRetention(dependencies: ChangeDependencies, days: number, log: Log): Repeating {
  if (days === 0) return { stop: async () => undefined };
  const run = async (signal: AbortSignal) => {
    let deleted = 0;
    let from: Time | undefined;
    const before = toTime(new Date(Date.now() - days * DAY_MS));
    while (!signal.aborted) {
      const batch = await deleteBatch(dependencies, before, from);
      if (batch === undefined) break;
      deleted += batch.deleted;
      from = batch.from;
    }
    let resolutions = RESOLUTIONS;
    while (!signal.aborted && resolutions === RESOLUTIONS)
      resolutions = await deleteResolutions(dependencies.database, before);
    if (deleted > 0) log.info({ deleted, days }, 'deleted settled notifications');
    return INTERVAL_MS;
  };
  const message = 'deleting settled notifications failed; retrying in an hour';
  return repeat(run, { log, message, retryMs: INTERVAL_MS });
}

/**
 * A batch of notifications of a user that were deleted: their number, and the time before which there are none left to
 * delete.
 */
type DeletedBatch = { userId: string; revision: number; deleted: number; from: Time };

/**
 * Deletes a batch of one user's settled notifications whose last change was before a time. Returns `undefined` if there
 * are none left, or if another gateway is deleting them.
 * @param from the `from` of the previous batch, so that what may not be deleted is not read again for each batch
 */
export async function deleteBatch(
  { database, announce }: ChangeDependencies,
  before: Time,
  from?: Time,
): Promise<DeletedBatch | undefined> {
  const batch = await database.fork().transactional((em) => deleteInTransaction(getKysely(em), before, from));
  if (batch !== undefined) announce({ user: batch.userId, topic: 'notifications', revision: batch.revision });
  return batch;
}

async function deleteInTransaction(
  db: Kysely<Tables>,
  before: Time,
  from: Time | undefined,
): Promise<DeletedBatch | undefined> {
  const lock = sql<{ free: boolean }>`select pg_try_advisory_xact_lock(${advisoryLocks.retention}) as free`;
  const { rows } = await lock.execute(db);
  if (!rows[0]?.free) return undefined;
  // Locks the revision without `userTransaction`, which would create it again for a user who is deleted concurrently.
  const settled = selectSettled(db, before);
  const owner = await (from === undefined ? settled : settled.where('updatedAt', '>=', from))
    .innerJoin('UserRevision', 'UserRevision.userId', 'Notification.userId')
    .select(['UserRevision.userId', 'Notification.updatedAt'])
    .orderBy('updatedAt')
    .limit(1)
    .forUpdate('UserRevision')
    .executeTakeFirst();
  if (owner === undefined) return undefined;
  const { userId, updatedAt } = owner;
  const deleted = await db
    .deleteFrom('Notification')
    .where('userId', '=', userId)
    .where('id', 'in', selectSettled(db, before).select('id').where('userId', '=', userId).limit(BATCH_SIZE))
    .returning('id')
    .execute();
  const ids = deleted.map(({ id }) => id);
  await db
    .deleteFrom('Delivery')
    .where('userId', '=', userId)
    .where((eb) => eb('notificationId', '=', eb.fn.any(eb.val(ids))))
    .execute();
  // The list has changed, and so must its entity tag.
  const { revision } = await db
    .updateTable('UserRevision')
    .set((eb) => ({ notifications: eb('notifications', '+', 1) }))
    .where('userId', '=', userId)
    .returning('notifications as revision')
    .executeTakeFirstOrThrow();
  return { userId, revision, deleted: deleted.length, from: updatedAt };
}

/** Deletes a batch of the task resolutions that were last updated before a time, and returns their number. */
async function deleteResolutions(database: Database, before: Time): Promise<number> {
  const key = ['userId', 'taskId', 'kind'] as const;
  const { numDeletedRows } = await getKysely(database.fork())
    .deleteFrom('TaskResolution')
    .where((eb) =>
      eb(
        eb.refTuple(...key),
        'in',
        eb
          .selectFrom('TaskResolution')
          .select(key)
          .where('updatedAt', '<', before)
          .limit(RESOLUTIONS)
          .$asTuple(...key),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

function selectSettled(db: Kysely<Tables>, before: Time) {
  return db
    .selectFrom('Notification')
    .where('status', '<>', 'active')
    .where('requestState', '<>', 'open')
    .where('updatedAt', '<', before);
}
