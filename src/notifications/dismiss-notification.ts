import { type RawBuilder, sql } from 'kysely';
import { defineStatement, type Params, runStatement } from '../database/statement.ts';
import { lockExisting } from '../database/transaction.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { recordDismissals } from '../platform-events/insert-events.ts';
import type { Time } from '../values/time.ts';
import type { NotificationDependencies } from './change-notifications.ts';
import type { Notification } from './notification.entity.ts';
import { findNotification } from './notifications.ts';

/** The second attempt sees every notification that was committed during the first. */
const MAX_ATTEMPTS = 2;

/**
 * Dismisses a notification, whatever its status. Dismissing it again changes nothing.
 * @throws {NotFoundError} if the user has no such notification
 */
export async function dismissNotification(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  id: string,
): Promise<Notification> {
  const input = { userId, id };
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const [dismissed] = await runStatement(database, dismiss, input);
    if (dismissed !== undefined) {
      announce({ ...dismissalOf(userId), revision: dismissed.revision });
      outbox.note([userId]);
      return dismissed;
    }
    const found = await findNotification(database, userId, id);
    if (found.status === 'dismissed') return found;
  }
  // The notification was deleted and published again between the attempts.
  throw new NotFoundError();
}

/**
 * Locks the user and then the notification, so that only the first of two concurrent dismissals changes it. The
 * statement itself locks the user, because `runStatement` does not. The property `notifications` of `UserRevision` is a
 * revision, not a count.
 */
const dismiss = defineStatement((db, { param }: Params<{ userId: string; id: string }>) =>
  db
    .with('locked', (db) => lockExisting(db, param('userId')))
    .with('undismissed', (db) =>
      db
        .selectFrom('Notification')
        .select(['id', 'taskId', 'updatedAt'])
        .where(({ exists, selectFrom }) => exists(selectFrom('locked').select('userId')))
        .where('userId', '=', param('userId'))
        .where('id', '=', param('id'))
        .where('status', '<>', 'dismissed')
        .forUpdate(),
    )
    .with('incremented', (db) =>
      db
        .updateTable('UserRevision')
        .set((eb) => ({ notifications: eb('notifications', '+', 1) }))
        .where('userId', '=', param('userId'))
        .where((eb) => eb.exists(eb.selectFrom('undismissed').select('id')))
        .returning('notifications as revision'),
    )
    .with('dismissal', (db) =>
      db.selectFrom('undismissed').select(dismissalTime(sql.ref('updatedAt')).as('at')),
    )
    .with('events', (db) => recordDismissals(db, param('userId', 'text'), 'undismissed'))
    .updateTable('Notification')
    .from(['incremented', 'dismissal'])
    .set((eb) => ({
      status: 'dismissed',
      revision: eb.ref('incremented.revision'),
      dismissedAt: eb.ref('dismissal.at'),
      updatedAt: eb.ref('dismissal.at'),
    }))
    .where('userId', '=', param('userId'))
    .where('id', '=', param('id'))
    .returningAll('Notification'),
);

/** What a dismissal announces besides the revision. It wrote an event for each notification. */
export const dismissalOf = (user: string) => ({ user, topic: 'notifications', hasEvents: true }) as const;

/**
 * The time of a dismissal: the database's clock, but not before the last change, even if clocks differ. A statement
 * reads it once, for both columns: two readings can be a millisecond apart.
 */
export const dismissalTime = (lastChange: RawBuilder<unknown>) =>
  sql<Time>`greatest(date_trunc('milliseconds', clock_timestamp()), ${lastChange})`;
