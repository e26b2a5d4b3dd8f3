import { sql } from 'kysely';
import { defineStatement, type Params } from '../../database/statement.ts';
import { transaction } from '../../database/transaction.ts';
import { ConflictError } from '../../errors/gateway-errors.ts';
import { incrementRevision } from '../../revisions/revisions.ts';
import type { Notification } from '../notification.entity.ts';
import { findNotification } from '../notifications.ts';
import type { NotificationDependencies } from '../publish-notifications.ts';
import { changeTime } from '../update-with-revisions.ts';
import type { Receipt } from './answer.ts';
import { settleIfDue } from './answer-notification.ts';

/**
 * Stores what the task did with the answer to a request. The first receipt stays; later ones change nothing.
 * @param admit throws if the caller may not acknowledge the answer of a notification
 * @throws {NotFoundError} if the user has no such notification
 * @throws {ConflictError} if it has no answer
 */
export async function acknowledgeAnswer(
  dependencies: NotificationDependencies,
  { userId, id }: { userId: string; id: string },
  receipt: Receipt,
  admit: (notification: Notification) => void,
): Promise<Notification> {
  const { database, announce } = dependencies;
  const given = await findNotification(database, userId, id);
  admit(given);
  // The default of an expired request may not have become its answer yet.
  if (given.requestState === 'open') await settleIfDue(dependencies, userId, id);
  const input = { userId, id, taskId: given.taskId, receipt: JSON.stringify(receipt) };
  const [acknowledged] = await transaction(database, [userId], (run) => run(storeReceipt, input));
  if (acknowledged !== undefined) {
    announce({ user: userId, topic: 'notifications', revision: acknowledged.revision });
    return acknowledged;
  }
  const found = await findNotification(database, userId, id);
  admit(found);
  if (found.receipt === null) throw new ConflictError('NOT_ANSWERED', 'The request has no answer.');
  return found;
}

const storeReceipt = defineStatement(
  (db, { param }: Params<{ userId: string; id: string; taskId: string; receipt: string }>) =>
    db
      .with('answered', (db) =>
        db
          .selectFrom('Notification')
          .select('id')
          .where('userId', '=', param('userId'))
          .where('id', '=', param('id'))
          // The user may have been deleted, and the ID published for another task.
          .where('taskId', '=', param('taskId'))
          .where('requestState', '=', sql.lit<'answered'>('answered'))
          .where('receipt', 'is', null),
      )
      .with('incremented', (db) => incrementRevision(db, 'notifications', 'answered', param('userId')))
      .updateTable('Notification')
      .from(['answered', 'incremented'])
      .set((eb) => ({
        revision: eb('incremented.before', '+', 1),
        receipt: sql<Receipt>`${param('receipt', 'json')}`,
        updatedAt: changeTime(sql`clock_timestamp()`),
      }))
      .where('userId', '=', param('userId'))
      .whereRef('Notification.id', '=', 'answered.id')
      .returningAll('Notification'),
);
