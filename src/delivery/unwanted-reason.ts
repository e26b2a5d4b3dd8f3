import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { isChannelEnabled } from '../notifications/preferences/channels.ts';
import type { CancelReason } from './delivery.enums.ts';

/** Selects from deliveries, with everything that decides whether they are still wanted. */
export function selectWithTargets(db: Pick<Kysely<Tables>, 'selectFrom'>) {
  return db
    .selectFrom('Delivery')
    .leftJoin('Notification', (join) =>
      join
        .onRef('Notification.userId', '=', 'Delivery.userId')
        .onRef('Notification.id', '=', 'Delivery.notificationId'),
    )
    .leftJoin('NotificationPreference', (join) =>
      join
        .onRef('NotificationPreference.userId', '=', 'Delivery.userId')
        .onRef('NotificationPreference.notificationKind', '=', 'Notification.kind'),
    )
    .leftJoin('Contact', 'Contact.userId', 'Delivery.userId')
    .leftJoin('PushSubscription', (join) =>
      join
        .onRef('PushSubscription.userId', '=', 'Delivery.userId')
        .onRef('PushSubscription.id', '=', 'Delivery.target'),
    );
}

/** Why a delivery of {@link selectWithTargets} is no longer wanted; null if it still is. */
export const unwantedReason: RawBuilder<CancelReason | null> = sql`case
  when notification.status is distinct from 'active' then 'settled'
  when not case delivery.channel
    when 'email' then ${isChannelEnabled('email')}
    when 'push' then ${isChannelEnabled('push')}
    else ${isChannelEnabled('chat')} end then 'channel_disabled'
  when case delivery.channel
    when 'email' then contact.email is null or contact.email_suspended_at is not null
    when 'push' then push_subscription.id is null
    else contact.chat_member_id is null or contact.chat_suspended_at is not null end then 'target_removed'
  end`;
