import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineStatement, type Params, runStatement } from '../database/statement.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { deliveryKey, matchesKeyIn } from './delivery-key.ts';
import { lifetime } from './insert-deliveries.ts';
import { selectWithTargets, unwantedReason } from './unwanted-reason.ts';

/** The maximum number of deliveries that one call retries. */
export const MAX_RETRIED = 1000;

/** The deliveries to retry: on these channels, and of all users if `userId` is null. */
export type RetryFilter = { channels: readonly DeliveryChannel[]; userId: string | null };

/**
 * Makes failed deliveries due again, earliest failures first, and returns their number. Deliveries that are no longer
 * wanted stay failed.
 */
export async function retryDeliveries(database: Database, filter: RetryFilter): Promise<number> {
  const retried = await runStatement(database, retryFailed, filter);
  return retried.length;
}

const retryFailed = defineStatement((db, { param }: Params<RetryFilter>) =>
  db
    .with('failed', (db) =>
      selectWithTargets(db)
        .select(deliveryKey)
        .where('Delivery.state', '=', sql.lit('failed' as const))
        .where('Delivery.channel', '=', sql<DeliveryChannel>`any(${param('channels', 'text[]')})`)
        .where(
          sql<boolean>`(${param('userId', 'text')} is null or delivery.user_id = ${param('userId', 'text')})`,
        )
        .where(unwantedReason, 'is', null)
        .orderBy('Delivery.updatedAt')
        .limit(sql.lit(MAX_RETRIED)),
    )
    .updateTable('Delivery')
    .from('failed')
    .set({
      state: 'pending',
      isOpen: true,
      dueAt: sql`now()`,
      expiresAt: sql`now() + ${lifetime}`,
      updatedAt: sql`now()`,
    })
    .where(matchesKeyIn('failed'))
    .where('Delivery.state', '=', 'failed')
    .returning('Delivery.channel'),
);
