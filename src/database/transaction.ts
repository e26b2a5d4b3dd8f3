import type { EntityManager } from '@mikro-orm/postgresql';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { PoolClient, QueryResultRow } from 'pg';
import { type Database, getKysely, type Tables } from './database.ts';
import { holdWrites } from './pool.ts';
import { type Bound, defineStatement, type Params, type Statement } from './statement.ts';

/** Sends a statement of a change and returns its rows. */
export type Run = <Input, Row extends QueryResultRow>(
  statement: Statement<Input, Row>,
  input: Input,
) => Promise<Row[]>;

/**
 * Changes records of users in one transaction, whose statements are sent in one write to the socket. The transaction
 * first locks the users' revisions, so changes of one user are serialized, and each statement of `work` sees all
 * earlier changes. `work` must send all its statements before it awaits one. If a statement fails, nothing is
 * committed. If all succeed, the change is committed, even if `work` rejects after that, for example because a record
 * does not exist.
 *
 * A change that consists of one statement can instead lock the user's revision in that statement and be sent by
 * `runStatement`, which costs less. docs/decisions.md has the conditions ("One round trip per change").
 */
export async function transaction<Result>(
  database: Database,
  users: readonly string[],
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  const client = await database.changes.connect();
  try {
    return await execute(database, client, [...new Set(users)], work);
  } finally {
    client.release();
  }
}

async function execute<Result>(
  database: Database,
  client: PoolClient,
  users: readonly string[],
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  let failure: unknown;
  let isOpen = true;

  /** Sends a statement. The first error is kept, because later statements only fail as a result of it. */
  const send = <Row extends QueryResultRow>(statement: Bound<Row>) =>
    sendOn(client, statement).catch((error: unknown) => {
      failure ??= error;
      throw error;
    });
  const run: Run = (statement, input) => {
    if (!isOpen) throw new Error('A change must send all its statements before it awaits one.');
    return send(statement(database, input));
  };

  const sendHeld = holdWrites(client);
  const results: Promise<unknown>[] = [];
  try {
    results.push(send(begin));
    if (users.length > 0) results.push(run(lockUsers, { users }));
    const result = work(run);
    results.push(result, send(commit));
    sendHeld();
    isOpen = false;
    await Promise.allSettled(results);
    if (failure !== undefined) throw failure;
    return await result;
  } catch (error) {
    if (!isOpen) throw error;
    // `work` threw instead of returning a promise. The first statements are still in the buffer of the corked socket.
    results.push(send(rollback));
    sendHeld();
    await Promise.allSettled(results);
    throw error;
  }
}

/**
 * Runs a statement and, in the same transaction, the statements that `work` sends for its rows. Like those of {@link
 * transaction}, they are sent in one write, so `work` must send all of them before it awaits one.
 */
export async function findAndChange<Input, Found extends QueryResultRow, Result>(
  database: Database,
  find: Statement<Input, Found>,
  input: Input,
  work: (found: Found[], run: Run) => Promise<Result>,
): Promise<Result> {
  const client = await database.changes.connect();
  try {
    const [, found] = await Promise.all([sendOn(client, begin), sendOn(client, find(database, input))]);
    const sendHeld = holdWrites(client);
    const results = Promise.all([
      work(found, (statement, given) => sendOn(client, statement(database, given))),
      sendOn(client, commit),
    ]);
    sendHeld();
    const [result] = await results;
    return result;
  } catch (error) {
    // Waits for what was sent, and ends the transaction unless that has.
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
export const begin = toBound('begin');
export const commit = toBound('commit');
export const rollback = toBound('rollback');

/** Sends a statement on a connection, and returns its rows. */
export function sendOn<Row extends QueryResultRow>(
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
export const lockUsers = defineStatement((db, { param }: Params<{ users: readonly string[] }>) =>
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
