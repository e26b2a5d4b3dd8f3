import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { getKysely } from '../../database/database.ts';
import type { Log } from '../../log.ts';
import { type Repeating, repeat } from '../../repeat.ts';
import type { NotificationDependencies } from '../change-notifications.ts';
import { storeExpiries } from './answer-notification.ts';

/** Time between two sweeps. An expiry is stored within this time, or earlier by any change of the request. */
const INTERVAL_MS = 1000;

/** The maximum number of requests of a step. */
const BATCH_SIZE = 500;

/** Until it is stopped, stores the expiries that no operation has stored. Several gateways may sweep at once. */
export function startRequestSweep(dependencies: NotificationDependencies, log: Log): Repeating {
  return repeat(async (signal) => ((await sweepRequests(dependencies, signal)) ? 0 : INTERVAL_MS), {
    log,
    message: 'settling requests failed; retrying',
    retryMs: INTERVAL_MS,
  });
}

/**
 * Does one step of the sweep, and returns whether there may be more to do.
 * @throws {AggregateError} if it failed for some users, after it was done for the others
 */
export async function sweepRequests(
  dependencies: NotificationDependencies,
  signal?: AbortSignal,
): Promise<boolean> {
  const { database } = dependencies;
  const em = database.fork();
  const due = (await hasDue(em)) ? await findDue(em) : [];
  const failures: unknown[] = [];
  for (const [user, requests] of Map.groupBy(due, ({ userId }) => userId)) {
    if (signal?.aborted) return false;
    try {
      await storeExpiries(
        dependencies,
        user,
        requests.map(({ id }) => id),
      );
    } catch (error) {
      // A user whose lock is held does not keep the requests of others from being settled.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, String(failures[0]));
  return due.length === BATCH_SIZE;
}

/** Selects due requests. `now()` instead of the clock, because the index is not used for a volatile function. */
const selectDue = (em: EntityManager) =>
  getKysely(em)
    .selectFrom('Notification')
    .where('requestState', '=', sql.lit<'open'>('open'))
    .where('expiresAt', '<=', sql<never>`now()`)
    .orderBy('expiresAt');

/** Finds out whether there is anything to do, without a lock, so that it also works on a standby. */
async function hasDue(em: EntityManager): Promise<boolean> {
  return (await selectDue(em).select('id').limit(sql.lit(1)).executeTakeFirst()) !== undefined;
}

/** Finds the keys of a batch, without the users whom another change has locked, for whom the sweep would wait. */
function findDue(em: EntityManager) {
  return selectDue(em)
    .innerJoin('UserRevision', 'UserRevision.userId', 'Notification.userId')
    .select(['Notification.userId', 'Notification.id'])
    .limit(sql.lit(BATCH_SIZE))
    .forUpdate('UserRevision')
    .skipLocked()
    .execute();
}
