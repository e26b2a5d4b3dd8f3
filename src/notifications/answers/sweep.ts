import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import type { Tables } from '../../database/database.ts';
import { defineStatement, type Params, runStatement } from '../../database/statement.ts';
import { lockExistingUser, transaction } from '../../database/transaction.ts';
import type { Log } from '../../log.ts';
import { type Repeating, repeat } from '../../repeat.ts';
import { incrementRevision } from '../../revisions/increment-revision.ts';
import type { NotificationDependencies } from '../publish-notifications.ts';
import { type EventInput, recordEvents } from '../record-events.ts';
import { changeTime } from '../update-with-revisions.ts';
import type { StoredRequestState } from './answer.enums.ts';
import { settleIfDue } from './answer-notification.ts';
import { asksUser } from './settle-request.ts';

/** Time between two sweeps. An expiry is stored within this time, or earlier by any change of the request. */
const INTERVAL_MS = 1000;

/** The maximum number of requests of a step. */
const BATCH_SIZE = 500;

/**
 * Until it is stopped, stores what no operation has stored: expiries that are due, and what gateways before version 0.3.0
 * left. Those settle notifications without knowing requests, and store requests without a state. Several gateways may
 * sweep at once, because each step changes only what is still to be changed.
 */
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
  const [work] = await runStatement(database, findWork, {});
  const converted = work?.isUnconverted ? await runStatement(database, convert, {}) : [];
  const due = work?.isDue ? await runStatement(database, findDue, {}) : [];
  const remaining = work?.isRemaining ? await runStatement(database, findRemaining, {}) : [];
  const failures: unknown[] = [];
  const users = new Set([...due, ...remaining].map(({ userId }) => userId));
  for (const user of users) {
    if (signal?.aborted) return false;
    const idsIn = (rows: readonly { userId: string; id: string }[]) =>
      rows.filter(({ userId }) => userId === user).map(({ id }) => id);
    try {
      for (const id of idsIn(due)) await settleIfDue(dependencies, user, id);
      await withdrawRemaining(dependencies, user, idsIn(remaining));
    } catch (error) {
      // A user whose lock is held does not keep the requests of others from being settled.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, String(failures[0]));
  return converted.length === BATCH_SIZE || Math.max(due.length, remaining.length) === BATCH_SIZE;
}

type Reader = Pick<Kysely<Tables>, 'selectFrom'>;

/** Selects due requests. `now()` instead of the clock, because the index is not used for a volatile function. */
const selectDue = (db: Reader) =>
  db
    .selectFrom('Notification')
    .where('requestState', '=', sql.lit<'open'>('open'))
    .where('expiresAt', '<=', sql<never>`now()`);

/** Selects the open requests of notifications that a gateway before version 0.3.0 resolved. */
const selectRemaining = (db: Reader) =>
  db
    .selectFrom('Notification')
    .where('requestState', '=', sql.lit<'open'>('open'))
    .where('resolvedAt', 'is not', null);

/** Selects what such a gateway stored without a state, and did not resolve. */
const selectUnconverted = (db: Reader) =>
  db
    .selectFrom('Notification')
    .where('requestState', 'is', null)
    .where('resolvedAt', 'is', null)
    .where('kind', '<>', sql.lit<'task_failed'>('task_failed'));

/** Selects the keys of a batch, without the users whom another change has locked, for whom the sweep would wait. */
function skipLockedUsers<Row>(query: SelectQueryBuilder<Tables, 'Notification', Row>) {
  return query
    .innerJoin('UserRevision', 'UserRevision.userId', 'Notification.userId')
    .select(['Notification.userId', 'Notification.id'])
    .limit(sql.lit(BATCH_SIZE))
    .forUpdate('UserRevision')
    .skipLocked();
}

/* The reads, too, run on the connections for changes: a user's short reads do not wait for the sweep. */

/** Finds out whether there is anything to do, without a lock, so that it also works on a standby. */
const findWork = defineStatement((db, _params: Params<object>) =>
  db.selectNoFrom(({ exists }) => [
    exists(selectDue(db).select('id')).as('isDue'),
    exists(selectRemaining(db).select('id')).as('isRemaining'),
    exists(selectUnconverted(db).select('id')).as('isUnconverted'),
  ]),
);

const findDue = defineStatement((db, _params: Params<object>) =>
  skipLockedUsers(selectDue(db).orderBy('expiresAt')),
);

const findRemaining = defineStatement((db, _params: Params<object>) => skipLockedUsers(selectRemaining(db)));

/**
 * Stores the state of requests that gateways before version 0.3.0 stored. It changes nothing that clients have, so it
 * needs no revision. What was dismissed is no request: such a gateway would not have withdrawn it. A notification that
 * such a gateway resolved keeps no state.
 */
const convert = defineStatement((db, _params: Params<object>) =>
  db
    .with('unconverted', (db) =>
      selectUnconverted(db).select(['userId', 'id']).limit(sql.lit(BATCH_SIZE)).forUpdate().skipLocked(),
    )
    .updateTable('Notification')
    .from('unconverted')
    .set({
      requestState: sql<StoredRequestState>`case when status = 'active' and ${asksUser} then 'open' else 'none' end`,
    })
    .whereRef('Notification.userId', '=', 'unconverted.userId')
    .whereRef('Notification.id', '=', 'unconverted.id')
    .returning('Notification.id as id'),
);

async function withdrawRemaining(
  { database, announce }: NotificationDependencies,
  userId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const withdrawn = await transaction(database, [], async (run) => {
    const [, rows] = await Promise.all([run(lockExistingUser, { userId }), run(withdraw, { userId, ids })]);
    return rows;
  });
  const revision = Math.max(0, ...withdrawn.map((row) => row.revision));
  if (revision > 0) announce({ user: userId, topic: 'notifications', revision });
}

const withdraw = defineStatement((db, params: Params<EventInput & { ids: readonly string[] }>) => {
  const { param } = params;
  return db
    .with('remaining', (db) =>
      db
        .selectFrom('Notification')
        .select(['id', 'taskId'])
        .select(sql<number>`row_number() over (order by id)`.as('place'))
        .where('userId', '=', param('userId'))
        .where('id', '=', sql<string>`any(${param('ids')})`)
        .where('requestState', '=', sql.lit<'open'>('open'))
        .where('resolvedAt', 'is not', null),
    )
    .with('incremented', (db) => incrementRevision(db, 'notifications', 'remaining', param('userId')))
    .with('events', (db) => recordEvents(db, params, ['remaining', sql`'notification.withdrawn'`]))
    .updateTable('Notification')
    .from(['remaining', 'incremented'])
    .set((eb) => ({
      requestState: 'withdrawn',
      revision: eb('incremented.before', '+', eb.ref('remaining.place')),
      updatedAt: changeTime(sql`clock_timestamp()`),
    }))
    .where('userId', '=', param('userId'))
    .whereRef('Notification.id', '=', 'remaining.id')
    .returning('revision');
});
