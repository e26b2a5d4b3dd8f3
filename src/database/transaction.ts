import type { EntityManager } from '@mikro-orm/postgresql';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { PoolClient, QueryResultRow } from 'pg';
import { type Database, getKysely, type Tables } from './database.ts';
import { holdWrites } from './pool.ts';
import { type Bound, defineStatement, type Params, type Statement } from './statement.ts';

/** Sends a statement and returns its rows. Statements that are sent before one is awaited share a write to the socket. */
export type Run = <Input, Row extends QueryResultRow>(
  statement: Statement<Input, Row>,
  input: Input,
) => Promise<Row[]>;

/**
 * Changes records of users in one transaction, which first locks the users' revisions, so changes of one user are
 * serialized, and each statement of `work` sees all earlier changes. It is committed if `work` resolves, and rolled back if
 * that rejects. What `work` sends before it awaits is sent in one write with the lock.
 *
 * A change that consists of one statement can instead lock the user's revision in that statement and be sent by
 * `runStatement`, which costs less. docs/decisions.md has the conditions ("Rules are written once, in TypeScript").
 */
export async function transaction<Result>(
  database: Database,
  users: readonly string[],
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  const client = await database.changes.connect();
  const run: Run = (statement, input) => sendOn(client, statement(database, input));
  const sendHeld = holdWrites(client);
  try {
    const begun = [
      sendOn(client, begin),
      users.length > 0 ? run(lockUsers, { users: [...new Set(users)] }) : [],
    ];
    const working = work(run);
    sendHeld();
    const [result] = await Promise.all([working, ...begun]);
    await sendOn(client, commit);
    return result;
  } catch (error) {
    sendHeld();
    // Waits for what was sent.
    await sendOn(client, rollback).catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

const toBound = (text: string): Bound<QueryResultRow> => ({
  config: { text },
  convertRows: (rows) => rows,
});
const begin = toBound('begin');
const commit = toBound('commit');
const rollback = toBound('rollback');

/** Sends a statement on a connection, and returns its rows. */
function sendOn<Row extends QueryResultRow>(
  client: PoolClient,
  { config, convertRows }: Bound<Row>,
): Promise<Row[]> {
  // With a callback, because pg's own promise keeps the result of each pipelined statement in memory until the next major
  // garbage collection.
  return new Promise((resolve, reject) => {
    client.query<Row>(config, (error, result) => (error ? reject(error) : resolve(convertRows(result.rows))));
  });
}

/** Locks the users of a transaction. */
const lockUsers = defineStatement((db, { param }: Params<{ users: readonly string[] }>) =>
  lock(db, param('users', 'text[]')),
);

/** Selects and locks a user. Unlike {@link transaction}, it does not store the revision of one who was deleted. */
export function lockExisting(db: Pick<Kysely<Tables>, 'selectFrom'>, userId: RawBuilder<string>) {
  return db.selectFrom('UserRevision').select('userId').where('userId', '=', userId).forUpdate();
}

/**
 * Changes records of users by an entity manager, in one transaction. Like {@link transaction}, it first locks the users'
 * revisions. `work` may await each statement, and the lock is held meanwhile.
 */
export async function userTransaction<Result>(
  em: EntityManager,
  users: readonly string[],
  work: (em: EntityManager) => Promise<Result>,
): Promise<Result> {
  return em.transactional(async (inner) => {
    await lock(getKysely(inner), sql`${[...new Set(users)]}::text[]`).execute();
    return work(inner);
  });
}

/**
 * Locks the users' revisions, creating those that do not exist, in the order of the IDs, so that changes never
 * deadlock. The false condition locks an existing row without writing it (PostgreSQL, INSERT, ON CONFLICT Clause).
 */
export function lock(db: Pick<Kysely<Tables>, 'insertInto'>, users: RawBuilder<readonly string[]>) {
  return db
    .insertInto('UserRevision')
    .columns(['userId'])
    .expression(sql`select id from unnest(${users}) as given (id) order by id collate "C"`)
    .onConflict((conflict) =>
      conflict.column('userId').doUpdateSet({ notifications: 0 }).where(sql<boolean>`false`),
    )
    .returning('userId');
}
