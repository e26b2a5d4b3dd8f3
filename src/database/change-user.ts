import { type RawBuilder, sql } from 'kysely';
import type { Time } from '../values/time.ts';
import type { Database } from './database.ts';
import { type Bound, defineStatement, type Params, runStatement } from './statement.ts';
import { type Run, transaction } from './transaction.ts';

/*
 * A change of a user's records reads rows, decides by a pure function, and stores the decision by one statement, which
 * moves the user's revision if it is still the one that was read, or does nothing.
 *
 * - The revision is read first, and everything else after it on the same connection, so that what was read is not older
 *   than the revision. Whatever changes rows that a decision reads moves the revision.
 * - If the revision has moved, the change reads and decides again. After two losses, it does so while it holds the lock of
 *   the user, so every change ends. Changes of several users hold the locks of all.
 * - In a process, the changes of one user take turns.
 */

/** The topics whose revisions guard what decisions read. */
type Topic = 'notifications' | 'editorAuth';

/** What a change reads first: the database's clock, and the user's epoch and revisions. A new user has no epoch. */
export type KnownUser = Record<Topic, number> & { userId: string; epoch: string | null; at: Time };

/** What is decided for a user. If there is `more`, the change goes on for the user, under the lock. */
export type Decision<Changes, Result> = { changes: Changes; more?: boolean | undefined; result: Result };

/** A statement that stores decisions, and returns whether the revisions were those that were read. */
type Store = Bound<{ isStored: boolean }>;

/** A change. It may read and decide several times. */
export type Change<Found, Changes, Result> = {
  /** Reads what the decisions for users depend on. */
  read(run: Run, users: readonly string[]): Promise<Found>;
  /** Decides for a user. @throws {GatewayError} if the change is refused */
  decide(found: Found, user: KnownUser): Decision<Changes, Result>;
  /** Returns the statement that stores what was decided; `undefined` if that is nothing. */
  store(decided: readonly { user: KnownUser; changes: Changes }[]): Store | undefined;
};

/** A decision is stored within this time after the clock was read: a process that slept does not store an old one. */
const MAX_AGE = sql.raw(`interval '5 s'`);

const MAX_ATTEMPTS = 2;

/** Changes records of a user. Returns the results of its steps: one, unless there was more than one step stores. */
export async function changeUser<Found, Changes, Result>(
  database: Database,
  userId: string,
  change: Change<Found, Changes, Result>,
): Promise<Result[]> {
  return database.turns.take(userId, async (deadline) => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const [decided] = decideAll(change, await readUsers(database, [userId], change));
      if (decided === undefined) throw new Error('The user was not read.');
      if (decided.more) break;
      const store = change.store([decided]);
      if (store === undefined) return [decided.result];
      const [stored] = await runStatement(database, () => store, undefined);
      if (stored?.isStored) return [decided.result];
      if (performance.now() > deadline) throw new Error('The change was not stored before the timeout.');
    }
    const [results = []] = await changeUsers(database, [userId], change);
    return results;
  });
}

/**
 * Changes records of users, all or none. The users are locked in the order of their IDs. Returns the results of the steps
 * for each user.
 */
export async function changeUsers<Found, Changes, Result>(
  database: Database,
  users: readonly string[],
  change: Change<Found, Changes, Result>,
): Promise<Result[][]> {
  return transaction(database, users, async (run) => {
    const results = new Map(users.map((userId): [string, Result[]] => [userId, []]));
    let remaining = users;
    while (remaining.length > 0) {
      const decided = decideAll(change, await readAll(change, remaining, run));
      const store = change.store(decided);
      const [stored] = store ? await run(() => store, undefined) : [{ isStored: true }];
      if (!stored?.isStored) throw new Error('The change was not stored in time although it held the lock.');
      for (const { user, result } of decided) results.get(user.userId)?.push(result);
      remaining = decided.filter(({ more }) => more).map(({ user }) => user.userId);
    }
    return users.map((userId) => results.get(userId) ?? []);
  });
}

/** Reads users, and then what a change of them depends on, without a lock. */
export async function readUsers<Found>(
  database: Database,
  users: readonly string[],
  change: Pick<Change<Found, never, unknown>, 'read'>,
): Promise<{ found: Found; known: KnownUser[] }> {
  return database.short.inOrder((query) =>
    readAll(change, users, async (statement, input) => {
      const { config, convertRows } = statement(database, input);
      return convertRows(await query(config));
    }),
  );
}

async function readAll<Found>(
  { read }: Pick<Change<Found, never, unknown>, 'read'>,
  users: readonly string[],
  run: Run,
): Promise<{ found: Found; known: KnownUser[] }> {
  const [rows, found] = await Promise.all([run(findUsers, { users }), read(run, users)]);
  const known = rows.map(({ notifications, editorAuth, ...user }) => ({
    ...user,
    notifications: notifications ?? 0,
    editorAuth: editorAuth ?? 0,
  }));
  return { found, known };
}

const decideAll = <Found, Changes, Result>(
  { decide }: Change<Found, Changes, Result>,
  { found, known }: { found: Found; known: readonly KnownUser[] },
) => known.map((user) => ({ user, ...decide(found, user) }));

const findUsers = defineStatement((db, { param }: Params<{ users: readonly string[] }>) =>
  db
    .selectFrom(sql<{ id: string }>`unnest(${param('users', 'text[]')})`.as<'given'>(sql`given (id)`))
    .leftJoin('UserRevision', 'UserRevision.userId', 'given.id')
    .select(['given.id as userId', 'epoch', 'notifications', 'editorAuth'])
    .select(sql<Time>`date_trunc('milliseconds', clock_timestamp())::timestamptz(3)`.as('at')),
);

/** The inputs of a statement that stores decisions: the users as read, and their new revisions, in arrays of one length. */
export type Guard = {
  users: readonly string[];
  epochs: readonly (string | null)[];
  /** When the clock was read. Null without users. */
  at: Time | null;
  from: readonly number[];
  to: readonly number[];
};

/** Returns the guard of decisions, each of which moves the user's revision by a number. */
export function guardOf(topic: Topic, moved: readonly (readonly [user: KnownUser, by: number])[]): Guard {
  const users = moved.map(([user]) => user);
  return {
    users: users.map(({ userId }) => userId),
    epochs: users.map(({ epoch }) => epoch),
    at:
      users
        .map(({ at }) => at)
        .toSorted()
        .at(0) ?? null,
    from: users.map((user) => user[topic]),
    to: moved.map(([user, by]) => user[topic] + by),
  };
}

/** Whether the guard of a decision must insert its user. Those of several users exist, for they are locked. */
export const isNew = ({ epochs }: Guard): boolean => epochs.length === 1 && epochs[0] === null;

/**
 * Moves the revisions of users that are the ones that were read: the `guard` of a statement, which stores nothing unless
 * {@link isGuarded}. A new user is inserted, and not updated, which would revive one who was deleted meanwhile. If the
 * statement waited for a lock and the row is as before, PostgreSQL evaluates the condition of the time only before the wait,
 * and what is returned afterwards.
 */
export function moveRevisions({ param }: Params<Guard>, topic: Topic, isNew: boolean): RawBuilder<unknown> {
  const { ref } = sql;
  const table = sql.table('UserRevision');
  const isTimely = sql`clock_timestamp() < ${param('at', 'timestamptz')} + ${MAX_AGE}`;
  const [users, to] = [param('users', 'text[]'), param('to', 'bigint[]')];
  if (isNew) {
    return sql`insert into ${table} (${ref('userId')}, ${ref(topic)})
      select * from unnest(${users}, ${to}) where ${isTimely} on conflict do nothing returning ${isTimely} as is_timely`;
  }
  return sql`update ${table} as stored set ${ref(topic)} = given.moved
    from unnest(${users}, ${to}, ${param('from', 'bigint[]')}, ${param('epochs', 'uuid[]')}) as given (id, moved, known, epoch)
    where stored.${ref('userId')} = given.id and stored.${ref(topic)} = given.known and stored.epoch = given.epoch
      and ${isTimely}
    returning ${isTimely} as is_timely`;
}

/** Whether {@link moveRevisions} moved revisions, and in time. */
export const isGuarded: RawBuilder<boolean> = sql`(select bool_and(is_timely) from guard)`;
