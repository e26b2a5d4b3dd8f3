import { sql } from 'kysely';
import { defineStatement, type Params } from '../database/statement.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { requestStates } from './answers/answer.enums.ts';
import { changeNotifications, type NotificationDependencies, readWhole } from './change-notifications.ts';
import { applyPatch, restore, type State, toChanges, toState } from './lifecycle.ts';
import type { Notification } from './notification.entity.ts';

/**
 * Undoes the dismissal of a notification. It is active again, unless it was resolved, or a later notification of its slot
 * was published meanwhile, which supersedes it. Restoring a notification that is not dismissed changes nothing.
 * @throws {NotFoundError} if the user has no such notification
 */
export async function restoreNotification(
  dependencies: NotificationDependencies,
  userId: string,
  id: string,
): Promise<Notification> {
  const [restored] = await changeNotifications(dependencies, userId, {
    read: (read) => Promise.all([read(readWhole, { userId, id }), read(findOfSlot, { userId, id })]),
    decide([[found], ofSlot], moment) {
      if (found === undefined) throw new NotFoundError();
      const step = restore(toState(found), moment, ofSlot);
      return { ...toChanges([step]), result: applyPatch(found, step?.patch) };
    },
  });
  if (restored === undefined) throw new Error('A restored notification is returned.');
  return restored;
}

const { ref } = sql;

/** Finds the active notification of the slot of another, and the newest of each state, each by an index. */
const findOfSlot = defineStatement((db, { param }: Params<{ userId: string; id: string }>) => {
  const isSame = (names: readonly string[]) =>
    sql.join(
      names.map((name) => sql`${ref(`other.${name}`)} = ${ref(`restored.${name}`)}`),
      sql` and `,
    );
  const other = sql`${sql.table('Notification')} as other where ${isSame(['userId', 'taskId', 'kind', 'slot'])}`;
  const columns = sql.join(['id', 'status', 'occurredAt', 'createdAt'].map((name) => ref(`other.${name}`)));
  const states = sql.join(requestStates.map((state) => sql`(${sql.lit(state)})`));
  const found = sql<Pick<State, 'id' | 'status' | 'occurredAt' | 'createdAt'>>`(
    select found.* from ${sql.table('Notification')} as restored cross join lateral (
      (select ${columns} from ${other} and other.status = 'active' order by other.slot limit 1)
      union all
      (select newest.* from (values ${states}) as given (state), (values (false), (true)) as own (is_own)
        cross join lateral (
          select ${columns} from ${other} and ${ref('other.requestState')} = state and ${ref('other.byTask')} = is_own
          order by ${ref('other.occurredAt')} desc, ${ref('other.createdAt')} desc limit 1) as newest)) as found
    where ${ref('restored.userId')} = ${param('userId')} and restored.id = ${param('id')})`;
  return db.selectFrom(found.as('found')).select(['id', 'status', 'occurredAt', 'createdAt']);
});
