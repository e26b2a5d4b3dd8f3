import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';
import type { Claim } from './claim-due.ts';
import { deliveryKey } from './delivery-key.ts';
import { selectWithTargets, unwantedReason } from './unwanted-reason.ts';

type Input = {
  users: readonly string[];
  notifications: readonly string[];
  channels: readonly string[];
  targets: readonly string[];
};

/** Reads what claimed deliveries send, and whether they are still wanted. */
const find = defineListRead((db, { param }: ReadParams<Input>) => {
  const keys: RawBuilder<boolean> = sql`(delivery.user_id, delivery.notification_id, delivery.channel, delivery.target)
    in (select * from unnest(${param('users')}::text[], ${param('notifications')}::text[], ${param('channels')}::text[],
      ${param('targets')}::text[]))`;
  return selectWithTargets(db)
    .select(deliveryKey)
    .select([
      'Notification.kind',
      'Notification.title',
      'Notification.previewText',
      'Notification.taskName',
      'Notification.projectName',
      'Notification.payload',
      'Notification.occurredAt',
      'Contact.email',
      'Contact.chatMemberId',
      'PushSubscription.ciphertext',
      unwantedReason.as('unwanted'),
      sql<boolean>`delivery.expires_at <= now()`.as('isExpired'),
    ])
    .where(keys);
});

/** The data of a claimed delivery; columns of missing joined rows are null. */
export type DeliveryData = Awaited<ReturnType<typeof find>>[number];

/** Loads the data of claimed deliveries. Omits deliveries that were deleted since. */
export function loadDeliveryData(database: Database, claims: readonly Claim[]): Promise<DeliveryData[]> {
  return find(database, {
    users: claims.map(({ userId }) => userId),
    notifications: claims.map(({ notificationId }) => notificationId),
    channels: claims.map(({ channel }) => channel),
    targets: claims.map(({ target }) => target),
  });
}
