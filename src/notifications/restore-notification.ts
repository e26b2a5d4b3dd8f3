import { type RawBuilder, sql } from 'kysely';
import { defineStatement, type Params } from '../database/statement.ts';
import { transaction } from '../database/transaction.ts';
import { type EventInput, recordEvents } from '../platform-events/insert-events.ts';
import { incrementRevision } from '../revisions/revisions.ts';
import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';
import type { Resolution } from './notification.enums.ts';
import { findNotification } from './notifications.ts';
import type { NotificationDependencies } from './publish-notifications.ts';
import { changeTime } from './update-with-revisions.ts';

/**
 * Undoes the dismissal of a notification. It is active again, unless it was resolved, or a later notification of its slot
 * was published meanwhile, which supersedes it. Restoring a notification that is not dismissed changes nothing.
 * @throws {NotFoundError} if the user has no such notification
 */
export async function restoreNotification(
  { database, announce }: NotificationDependencies,
  userId: string,
  id: string,
  now: Time,
): Promise<Notification> {
  const [restored] = await transaction(database, [userId], (run) => run(restore, { userId, id, now }));
  if (restored === undefined) return findNotification(database, userId, id);
  announce({ user: userId, topic: 'notifications', revision: restored.revision });
  return restored;
}

const { ref } = sql;

/** Selects the notifications of the slot of `restored` that meet a condition. */
const selectOfSlot = (condition: RawBuilder<boolean>) => sql`
  select ${ref('createdAt')}, ${ref('occurredAt')} from ${sql.table('Notification')} as other
   where ${sql.join(
     ['userId', 'taskId', 'kind', 'slot'].map(
       (name) => sql`${ref(`other.${name}`)} = ${ref(`restored.${name}`)}`,
     ),
     sql` and `,
   )} and ${condition}`;

/**
 * Selects the `createdAt` of the notification that supersedes `restored`: the active one, or the newest that occurred
 * later. Each is found by an index, which both conditions together would not be.
 */
const selectSuccessor = sql<Time | null>`(
  select ${ref('createdAt')} from (
    ${selectOfSlot(sql`other.status = 'active'`)}
    union all
    (${selectOfSlot(
      sql`(${ref('other.occurredAt')}, ${ref('other.createdAt')})
        > (${ref('restored.occurredAt')}, ${ref('restored.createdAt')})`,
    )} order by ${ref('occurredAt')} desc limit 1)) as successors
  order by ${ref('occurredAt')} desc limit 1)`;

/** A successor has withdrawn the request when it was published. */
const restore = defineStatement((db, params: Params<EventInput & { id: string; now: Time }>) => {
  const { param } = params;
  const successor = ref('dismissed.successor');
  return db
    .with('dismissed', (db) =>
      db
        .selectFrom('Notification as restored')
        .select(['restored.id', 'restored.taskId'])
        .select(selectSuccessor.as('successor'))
        .where('restored.userId', '=', param('userId'))
        .where('restored.id', '=', param('id'))
        .where('restored.status', '=', 'dismissed'),
    )
    .with('incremented', (db) => incrementRevision(db, 'notifications', 'dismissed', param('userId')))
    .with('events', (db) => recordEvents(db, params, ['dismissed', sql`'notification.restored'`]))
    .updateTable('Notification')
    .from(['dismissed', 'incremented'])
    .set((eb) => ({
      revision: eb('incremented.before', '+', 1),
      status: sql<'active'>`case when ${ref('resolvedAt')} is null and ${successor} is null then 'active'
        else 'resolved' end`,
      resolution: sql<Resolution>`case when ${ref('resolvedAt')} is null and ${successor} is not null then 'superseded'
        else ${ref('resolution')} end`,
      resolvedAt: sql<Time>`coalesce(${ref('resolvedAt')}, ${successor})`,
      dismissedAt: null,
      updatedAt: sql<Time>`greatest(${changeTime(param('now'))}, ${successor})`,
    }))
    .where('userId', '=', param('userId'))
    .whereRef('Notification.id', '=', 'dismissed.id')
    .returningAll('Notification');
});
