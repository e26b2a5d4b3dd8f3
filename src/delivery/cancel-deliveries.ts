import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { CancelReason, DeliveryState, DeliveryStep } from './delivery.enums.ts';
import { deliveryKey, matchesNotificationIn } from './delivery-key.ts';
import { selectWithTargets, unwantedReason } from './unwanted-reason.ts';

/**
 * Checks all open deliveries of these users, and cancels those that are no longer wanted. A delivery is open while a
 * later change can still cancel it or, if its message was delivered, queue an update of the message. A user has few
 * open deliveries.
 */
export const cancelUnwantedDeliveries = defineStatement(
  (db, { param }: Params<{ users: readonly string[] }>) =>
    db
      .with('reasons', (db) =>
        selectWithTargets(db)
          .select(deliveryKey)
          .select(unwantedReason.as('reason'))
          .where('Delivery.userId', '=', sql<string>`any(${param('users', 'text[]')})`)
          .where('Delivery.isOpen', '=', sql.lit(true)),
      )
      .with('cancelled', (db) =>
        cancelDeliveries(db)
          .whereRef('Delivery.channel', '=', 'reasons.channel')
          .whereRef('Delivery.target', '=', 'reasons.target'),
      )
      .selectFrom('cancelled')
      .select('userId'),
);

/** Why one delivery, or every delivery of a notification, is no longer wanted; null if it still is. */
type Reason = { userId: string; notificationId: string; reason: CancelReason | null };

/**
 * For each row of the common table expression `reasons`, applies its reason to the open deliveries of its notification.
 * The caller can add conditions, so that a reason applies to one delivery only. Changed deliveries are no longer open
 * (`isOpen` is false):
 *
 * - A pending delivery is cancelled if there is a reason.
 * - If the reason is `settled`, a delivered message that can be changed is queued again to be updated (step `update`).
 * - If the reason is `settled` and the delivery is being sent, its state stays and `isOpen` becomes false. If the
 *   attempt then delivers a message that can be changed, `storeDelivered` queues the update.
 */
export function cancelDeliveries<With extends Reason>(
  db: Pick<Kysely<Tables & { reasons: With }>, 'updateTable'>,
) {
  return db
    .updateTable('Delivery')
    .from('reasons')
    .set({
      state: sql<DeliveryState>`case delivery.state when 'pending' then 'cancelled'
        when 'delivered' then 'pending' else delivery.state end`,
      step: sql<DeliveryStep>`case delivery.state when 'delivered' then 'update' else delivery.step end`,
      dueAt: sql`case delivery.state when 'delivered' then now() else delivery.due_at end`,
      reason: sql<CancelReason>`case delivery.state when 'pending' then reasons.reason else delivery.reason end`,
      isOpen: false,
      updatedAt: sql`now()`,
    })
    .where(matchesNotificationIn('reasons'))
    .where('Delivery.isOpen', '=', sql.lit(true))
    .where(
      sql<boolean>`((delivery.state = 'pending' and reasons.reason is not null) or reasons.reason = 'settled')`,
    )
    .returning('Delivery.userId');
}
