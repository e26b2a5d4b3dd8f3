import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Change, changeUser, changeUsers } from '../database/change-user.ts';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { Run } from '../database/transaction.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { Outbox } from '../live/outbox.ts';
import { type Moment, type State, stateProperties } from './lifecycle.ts';
import { type Changes, countMoved, createStore } from './store-notifications.ts';

/** The dependencies of publishing and settling notifications. A `Context` can be passed. */
export type NotificationDependencies = ChangeDependencies & { readonly outbox: Outbox };

/** A change of notifications. The first revision that a decision gives is that of the moment. */
export type NotificationChange<Found, Result> = {
  read(run: Run, users: readonly string[]): Promise<Found>;
  decide(found: Found, moment: Moment, userId: string): Changes & { result: Result; more?: boolean };
};

/**
 * Changes notifications of a user: reads, decides, stores, and announces what was stored. Returns the results of the
 * steps; one, unless `decide` returned `more`.
 */
export async function changeNotifications<Found, Result>(
  dependencies: NotificationDependencies,
  userId: string,
  change: NotificationChange<Found, Result>,
): Promise<Result[]> {
  const steps = await changeUser(dependencies.database, userId, bind(dependencies, change));
  return finish(dependencies, [userId], [steps]).flat();
}

/** Does the same for several users, all or none. */
export async function changeNotificationsOfUsers<Found, Result>(
  dependencies: NotificationDependencies,
  users: readonly string[],
  change: NotificationChange<Found, Result>,
): Promise<Result[][]> {
  const steps = await changeUsers(dependencies.database, users, bind(dependencies, change));
  return finish(dependencies, users, steps);
}

/** A result, and what follows from what was stored: the new revision, and whether it patched notifications or wrote events. */
type Stored<Result> = {
  result: Result;
  revision: number | undefined;
  hasPatched: boolean;
  hasEvents: boolean;
};

function bind<Found, Result>(
  { database }: NotificationDependencies,
  { read, decide }: NotificationChange<Found, Result>,
): Change<Found, Changes, Stored<Result>> {
  return {
    read,
    decide(found, user) {
      const { userId, at, notifications } = user;
      const { result, more, ...changes } = decide(found, { at, revision: notifications + 1 }, userId);
      const moved = countMoved(changes, notifications);
      const hasPatched = (changes.patches ?? []).length > 0;
      const revision = moved > 0 ? notifications + moved : undefined;
      const hasEvents = (changes.events ?? []).length > 0;
      return { changes, more, result: { result, revision, hasPatched, hasEvents } };
    },
    store: (decided) => createStore(database, decided),
  };
}

function finish<Result>(
  { announce, outbox }: NotificationDependencies,
  users: readonly string[],
  changed: readonly (readonly Stored<Result>[])[],
): Result[][] {
  const changes = users.flatMap((user, index) => {
    const steps = changed[index] ?? [];
    const revision = steps.findLast((step) => step.revision !== undefined)?.revision;
    const hasEvents = steps.some((step) => step.hasEvents);
    return revision === undefined ? [] : { user, topic: 'notifications' as const, revision, hasEvents };
  });
  if (changes.length > 0) announce(changes);
  const patched = users.filter((_user, index) => changed[index]?.some(({ hasPatched }) => hasPatched));
  if (patched.length > 0) outbox.note(patched);
  return changed.map((steps) => steps.map(({ result }) => result));
}

/** The maximum number of notifications that one step settles. */
export const MAX_SETTLED = 500;

const { ref } = sql;

const hasDefault = sql<boolean>`${ref('onExpiry')} is not null`;

/**
 * Selects what rules know of the notifications of a `from` clause, in a statement that is not built by Kysely. The clause
 * sorts by the index that finds them: planned while the table is empty, any index with the user seems as good to PostgreSQL.
 * `between` keeps it from ignoring the order of a single value.
 */
export const selectState = (from: RawBuilder<unknown>): RawBuilder<State> =>
  sql`select ${sql.join(stateProperties.map((property) => ref(property)))}, ${hasDefault} as "hasDefault" from ${from}`;

/** Selects from the rows of {@link selectState}. */
export const selectStates = (db: Kysely<Tables>, states: RawBuilder<State>) =>
  db.selectFrom(sql<State>`(${states})`.as('state')).select([...stateProperties, 'hasDefault']);

/** Reads a notification whole. */
export const readWhole = defineStatement((db, { param }: Params<{ userId: string; id: string }>) =>
  db
    .selectFrom('Notification')
    .selectAll()
    .where('userId', '=', param('userId'))
    .where('id', '=', param('id')),
);

/** Reads what rules know of notifications. */
export const readByIds = defineStatement(
  (db, { param }: Params<{ userId: string; ids: readonly string[] }>) =>
    selectStates(
      db,
      selectState(sql`${sql.table('Notification')}
      where ${ref('userId')} = ${param('userId')} and id = any(${param('ids', 'text[]')}) order by id`),
    ),
);
