import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { Params } from '../database/statement.ts';
import { type EventInput, recordEvents } from '../platform-events/insert-events.ts';
import { incrementRevision } from '../revisions/revisions.ts';
import type { Time } from '../values/time.ts';
import { selectEventType, selectSettlement, settle } from './answers/settle-request.ts';
import type { Resolution } from './notification.enums.ts';

/** The condition for the notifications to change. */
type Condition = (eb: ExpressionBuilder<Tables, 'Notification'>) => Expression<SqlBool>;

/** The new status, and the reason of a resolution. */
type StatusChange = { status: 'dismissed' } | { status: 'resolved'; resolution: Expression<Resolution> };

/**
 * Changes notifications of a user, and withdraws the open requests of those that it resolves. Each gets a revision of
 * its own, in the order of creation. The caller must have locked the user's row of `UserRevision`. Timestamps never
 * decrease, even if the clocks of gateways differ. The caller adds what is returned.
 */
export function updateWithRevisions(
  db: Kysely<Tables>,
  params: Params<EventInput & { now: Time }>,
  condition: Condition,
  change: StatusChange,
) {
  const { param } = params;
  const isDismissal = change.status === 'dismissed';
  return db
    .with('numbered', (db) =>
      db
        .selectFrom('Notification')
        .select(['id', 'taskId'])
        .$if(!isDismissal, (rows) => rows.select(selectSettlement('withdrawn')))
        .select(sql<number>`row_number() over (order by ${sql.ref('createdAt')}, id)`.as('place'))
        .where('userId', '=', param('userId'))
        .where(condition),
    )
    .with('incremented', (db) => incrementRevision(db, 'notifications', 'numbered', param('userId')))
    .with('events', (db) =>
      recordEvents(db, params, [
        'numbered',
        isDismissal ? sql`'notification.dismissed'` : selectEventType('numbered'),
      ]),
    )
    .updateTable('Notification')
    .from(['numbered', 'incremented'])
    .set((eb) => ({
      revision: eb('incremented.before', '+', eb.ref('numbered.place')),
      ...(isDismissal
        ? {
            status: 'dismissed' as const,
            dismissedAt: changeTime(param('now')),
            updatedAt: changeTime(param('now')),
          }
        : settle('numbered', changeTime(param('now')), change.resolution)),
    }))
    .where('userId', '=', param('userId'))
    .whereRef('Notification.id', '=', 'numbered.id');
}

/**
 * The time of a change: `now`, but not before the last change. A change of a dismissed notification is always later than
 * its dismissal, so that it can be recognized.
 */
export function changeTime(now: Expression<Time>) {
  return sql<Time>`greatest(${now}::timestamptz, ${sql.ref('updatedAt')} +
    case status when 'dismissed' then interval '1 ms' else interval '0' end)`;
}
