import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Slots } from '../database/statement.ts';
import type { CancelReason, DeliveryState, DeliveryStep } from './delivery.enums.ts';
import { deliveryKey, matchesNotificationIn, selectWithTargets, unwantedReason } from './delivery-queries.ts';

/**
 * Cancels the unwanted deliveries of these users. Reads only open deliveries, which can still be cancelled or whose
 * delivered message can be updated. A user has few.
 */
export const cancelUnwantedDeliveries = defineStatement((db, { slot }: Slots<{ users: readonly string[] }>) =>
  db
    .with('unwanted', (db) =>
      selectWithTargets(db)
        .select(deliveryKey)
        .select(unwantedReason.as('reason'))
        .where('Delivery.userId', '=', sql<string>`any(${slot('users', 'text[]')})`)
        .where('Delivery.isOpen', '=', sql.lit(true)),
    )
    .with('cancelled', (db) =>
      cancelDeliveries(db)
        .whereRef('Delivery.channel', '=', 'unwanted.channel')
        .whereRef('Delivery.target', '=', 'unwanted.target'),
    )
    .selectFrom('cancelled')
    .select('userId'),
);

/** Why deliveries of a notification are no longer wanted; null if they are still wanted. */
type Unwanted = { userId: string; notificationId: string; reason: CancelReason | null };

/**
 * Applies the reasons in the common table expression `unwanted` to the open deliveries of its notifications. Each
 * delivery that this changes is no longer open (`isOpen`); the others stay as they are.
 *
 * - A pending delivery is cancelled if there is a reason.
 * - If the reason is `settled`, a delivered message that can be changed is queued again to be updated (step `update`).
 * - If the reason is `settled`, a delivery that is being sent is closed but keeps its state. `storeDelivered` then queues
 *   its update.
 */
export function cancelDeliveries<With extends Unwanted>(
  db: Pick<Kysely<Tables & { unwanted: With }>, 'updateTable'>,
) {
  return db
    .updateTable('Delivery')
    .from('unwanted')
    .set({
      state: sql<DeliveryState>`case delivery.state when 'pending' then 'cancelled'
        when 'delivered' then 'pending' else delivery.state end`,
      step: sql<DeliveryStep>`case delivery.state when 'delivered' then 'update' else delivery.step end`,
      dueAt: sql`case delivery.state when 'delivered' then now() else delivery.due_at end`,
      reason: sql<CancelReason>`case delivery.state when 'pending' then unwanted.reason else delivery.reason end`,
      isOpen: false,
      updatedAt: sql`now()`,
    })
    .where(matchesNotificationIn('unwanted'))
    .where('Delivery.isOpen', '=', sql.lit(true))
    .where(
      sql<boolean>`((delivery.state = 'pending' and unwanted.reason is not null) or unwanted.reason = 'settled')`,
    )
    .returning('Delivery.userId');
}
