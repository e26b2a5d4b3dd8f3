import { sql } from 'kysely';
import { defineStatement, type Params } from '../database/statement.ts';
import { requestStates } from './answers/answer.enums.ts';
import {
  changeNotifications,
  MAX_SETTLED,
  type NotificationDependencies,
  readByIds,
} from './change-notifications.ts';
import { findDismissed } from './dismiss-notifications.ts';
import { type Mark, restore, type State, settleInOrder, toChanges } from './lifecycle.ts';
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
 * is active again, unless it was resolved, or would have been without the dismissal. Ignores unknown IDs, and notifications
 * that are no longer dismissed. Up to 500 are restored by a change of their own, so that other changes of the user do not
 * wait for 100,000. If one fails, the same call restores the rest.
 */
export async function restoreNotifications(
  dependencies: NotificationDependencies,
  userId: string,
  filter: { ids: readonly string[] } | Dismissal,
): Promise<string[]> {
  if ('ids' in filter) return restoreThose(dependencies, userId, filter.ids, () => true);
  const { revision, dismissedAt } = filter;
  const isOfDismissal = (state: State) => state.dismissedAt === dismissedAt;
  const restored: string[] = [];
  for (;;) {
    // The dismissal gave consecutive revisions, and what was restored or settled since has a later one.
    const dismissal = { revision: revision + restored.length, dismissedAt };
    const ids = await findDismissed(dependencies.database.fork(), userId, dismissal, MAX_SETTLED);
    restored.push(...(await restoreThose(dependencies, userId, ids, isOfDismissal)));
    if (ids.length < MAX_SETTLED) return restored;
  }
}

async function restoreThose(
  dependencies: NotificationDependencies,
  userId: string,
  ids: readonly string[],
  isMeant: (state: State) => boolean,
): Promise<string[]> {
  const input = { userId, ids };
  const steps = await changeNotifications(dependencies, userId, {
    read: (run) => Promise.all([run(readByIds, input), run(readLater, input)]),
    decide([states, others], moment) {
      const ofEach = Map.groupBy(others, ({ restoredId }) => restoredId);
      const restored = settleInOrder(states.filter(isMeant), moment, (state, at) => {
        const later = ofEach.get(state.id) ?? [];
        return restore(state, at, later, later[0]);
      });
      return { ...toChanges(restored), result: restored.map(({ patch }) => patch.id) };
    },
  });
  return steps.flat();
}

const { ref } = sql;

/**
 * Reads the active notification of the slot of each, and the newest of each state of its slot and of `''`, by an index, beside
 * the resolution of the task and kind. `between` keeps PostgreSQL from ignoring the order, by which it chooses the index.
 */
const readLater = defineStatement((db, { param }: Params<{ userId: string; ids: readonly string[] }>) => {
  const isOfTask = (table: 'other' | 'mark') =>
    sql.join(
      ['userId', 'taskId', 'kind'].map(
        (name) => sql`${ref(`${table}.${name}`)} = ${ref(`restored.${name}`)}`,
      ),
      sql` and `,
    );
  const other = sql`${sql.table('Notification')} as other where ${isOfTask('other')}`;
  const names = ['id', 'slot', 'status', 'occurredAt', 'createdAt'] as const;
  const columns = sql.join(names.map((name) => ref(`other.${name}`)));
  const states = sql.join(requestStates.map((state) => sql`(${sql.lit(state)})`));
  const found = sql<Pick<State, (typeof names)[number]> & Mark & { restoredId: string }>`(
    select found.*, restored.id as ${ref('restoredId')}, mark.${ref('resolvedUpTo')},
      mark.resolution, mark.${ref('updatedAt')} as ${ref('markedAt')}
    from (select id, ${sql.join(['userId', 'taskId', 'kind', 'slot'].map((name) => ref(name)))} from ${sql.table('Notification')}
      where ${ref('userId')} = ${param('userId')} and id = any(${param('ids', 'text[]')}) and status = 'dismissed'
      order by id) as restored
    cross join lateral (
      (select ${columns} from ${other} and other.slot between restored.slot and restored.slot and other.status = 'active'
        order by other.slot limit 1)
      union all
      (select newest.* from (values ${states}) as given (state), (values (false), (true)) as own (is_own),
          (values (restored.slot), ('')) as of (slot)
        cross join lateral (
          select ${columns} from ${other} and other.slot = of.slot
            and ${ref('other.requestState')} = state and ${ref('other.byTask')} = is_own
          order by ${ref('other.occurredAt')} desc, ${ref('other.createdAt')} desc limit 1) as newest)) as found
    left join ${sql.table('TaskResolution')} as mark on ${isOfTask('mark')})`;
  return db
    .selectFrom(found.as('found'))
    .select([...names, 'restoredId', 'resolvedUpTo', 'resolution', 'markedAt']);
});
