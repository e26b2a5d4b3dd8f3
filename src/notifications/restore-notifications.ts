import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { Run } from '../database/transaction.ts';
import { requestStates } from './answers/answer.enums.ts';
import {
  changeNotifications,
  MAX_SETTLED,
  type NotificationDependencies,
  selectState,
  selectStates,
} from './change-notifications.ts';
import { restore, type State, settleInOrder, toChanges } from './lifecycle.ts';
import type { Notification } from './notification.entity.ts';
import { findNotification } from './notifications.ts';
import type { Dismissal } from './undo-token.ts';

/**
 * Undoes the dismissal of a notification, as {@link restoreNotifications} does.
 * @throws {NotFoundError} if the user has no such notification
 */
export async function restoreNotification(
  dependencies: NotificationDependencies,
  userId: string,
  id: string,
): Promise<Notification> {
  await restoreNotifications(dependencies, userId, { ids: [id] });
  return findNotification(dependencies.database, userId, id);
}

/**
 * Undoes the dismissals of notifications by ID, or one dismissal of many, and returns the IDs of all that it changed. Each
 * is active again, unless it was resolved, or a later notification of its slot was published meanwhile, which supersedes
 * it. Ignores unknown IDs, and notifications that are no longer dismissed. Up to 500 are restored by a change of their
 * own, so that other changes of the user do not wait for 100,000. If one fails, the same call restores the rest.
 */
export async function restoreNotifications(
  dependencies: NotificationDependencies,
  userId: string,
  filter: { ids: readonly string[] } | Dismissal,
): Promise<string[]> {
  const restored: string[] = [];
  for (;;) {
    const [ids = []] = await changeNotifications(dependencies, userId, {
      read: (run) =>
        'ids' in filter
          ? readByIds(run, { userId, ids: filter.ids })
          : // The dismissal gave consecutive revisions, and what was restored or settled since has a later one.
            readDismissed(run, { userId, ...filter, revision: filter.revision + restored.length }),
      decide([states, others], moment) {
        const ofSlots = Map.groupBy(others, ({ restoredId }) => restoredId);
        const steps = settleInOrder(states, moment, (state, at) =>
          restore(state, at, ofSlots.get(state.id) ?? []),
        );
        return { ...toChanges(steps), result: steps.map(({ patch }) => patch.id) };
      },
    });
    restored.push(...ids);
    if (ids.length < MAX_SETTLED) return restored;
  }
}

const { ref } = sql;

const ofUser = ({ param }: Params<{ userId: string }>) =>
  sql`${sql.table('Notification')} where ${ref('userId')} = ${param('userId')}`;

const readByIds = defineReads(
  (params: Params<{ userId: string; ids: readonly string[] }>) =>
    sql`${ofUser(params)} and id = any(${params.param('ids', 'text[]')}) and status = 'dismissed' order by id`,
);

/** Without a condition of the status, with which PostgreSQL may scan the index of what is not active. */
const readDismissed = defineReads(
  (params: Params<Dismissal & { userId: string }>) =>
    sql`${ofUser(params)} and revision > ${params.param('revision')} and ${ref('dismissedAt')} = ${params.param('dismissedAt')}
      order by revision limit ${sql.lit(MAX_SETTLED)}`,
);

/** Defines the reads of the notifications of a `from` clause, and of what is in their slots. */
function defineReads<Input extends object>(from: (params: Params<Input>) => RawBuilder<unknown>) {
  const states = defineStatement((db, params: Params<Input>) => selectStates(db, selectState(from(params))));
  const ofSlots = defineStatement((db, params: Params<Input>) => selectOfSlots(db, from(params)));
  return (run: Run, input: Input) => Promise.all([run(states, input), run(ofSlots, input)]);
}

/**
 * Selects the active notification of the slot of each, and the newest of each state, by an index. `between` keeps PostgreSQL
 * from ignoring the order, by which it chooses the index.
 */
function selectOfSlots(db: Kysely<Tables>, from: RawBuilder<unknown>) {
  const task = ['userId', 'taskId', 'kind'].map(
    (name) => sql`${ref(`other.${name}`)} = ${ref(`restored.${name}`)}`,
  );
  const other = sql`${sql.table('Notification')} as other where ${sql.join(task, sql` and `)}`;
  const names = ['id', 'status', 'occurredAt', 'createdAt'] as const;
  const columns = sql.join(names.map((name) => ref(`other.${name}`)));
  const states = sql.join(requestStates.map((state) => sql`(${sql.lit(state)})`));
  const found = sql<Pick<State, (typeof names)[number]> & { restoredId: string }>`(
    select found.*, restored.id as ${ref('restoredId')}
    from (select id, ${sql.join(['userId', 'taskId', 'kind', 'slot'].map((name) => ref(name)))} from ${from}) as restored
    cross join lateral (
      (select ${columns} from ${other} and other.slot between restored.slot and restored.slot and other.status = 'active'
        order by other.slot limit 1)
      union all
      (select newest.* from (values ${states}) as given (state), (values (false), (true)) as own (is_own)
        cross join lateral (
          select ${columns} from ${other} and other.slot = restored.slot
            and ${ref('other.requestState')} = state and ${ref('other.byTask')} = is_own
          order by ${ref('other.occurredAt')} desc, ${ref('other.createdAt')} desc limit 1) as newest)) as found)`;
  return db.selectFrom(found.as('found')).select([...names, 'restoredId']);
}
