import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { PublishedKeys } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { Notification } from '../notifications/notification.entity.ts';
import { isChannelEnabled } from '../notifications/preferences/channels.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { cancelDeliveries } from './cancel-deliveries.ts';

/** How long after its publication, or after a manual retry, a message may be sent. */
export const lifetime = sql.raw(`interval '24 h'`);

type Input = PublishedKeys & Readonly<Record<DeliveryChannel, boolean>> & { emailDelay: number };

/**
 * Queues one delivery per active published notification, enabled channel and target. Cancels the deliveries of
 * superseded notifications.
 */
export const insertDeliveries = defineStatement((db, { param }: Params<Input>) =>
  db
    .with('published', (db) => selectPublished(db, param))
    .with('reasons', selectSuperseded)
    .with('cancelled', (db) => cancelDeliveries(db))
    .insertInto('Delivery')
    .columns([
      'userId',
      'notificationId',
      'channel',
      'target',
      'provider',
      'state',
      'dueAt',
      'expiresAt',
      'createdAt',
      'updatedAt',
    ])
    .expression(
      sql`select published.user_id, published.id, targets.channel, targets.target, targets.provider, 'pending',
          now() + make_interval(secs => case targets.channel when 'email' then ${param('emailDelay', 'int')} else 0 end),
          published.created_at + ${lifetime}, published.created_at, now()
        from published
        left join notification_preference on notification_preference.user_id = published.user_id
          and notification_preference.notification_kind = published.kind
        cross join lateral (${selectTargets(param)}) as targets
        where published.status = 'active' and published.created_at > now() - ${lifetime}`,
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('channel'),
);

type Param = Params<Input>['param'];

/**
 * Selects the published notifications. A change that publishes n notifications of a user increments that user's revision
 * at most 2n times: for each notification, and for each that it supersedes. The column `before`, a notification's
 * revision minus 2n, is therefore less than the revision of every notification that this change superseded.
 */
function selectPublished(db: Pick<Kysely<Tables>, 'selectFrom'>, param: Param) {
  const keys: RawBuilder<{ user: string; notification: string }> = sql`unnest(
    ${param('users', 'text[]')}, ${param('ids', 'text[]')})`;
  const before = sql<number>`notification.revision - 2 * count(*) over (partition by notification.user_id)`;
  return db
    .selectFrom(keys.as<'keys'>(sql`keys ("user", notification)`))
    .innerJoin('Notification', (join) =>
      join.onRef('Notification.userId', '=', 'keys.user').onRef('Notification.id', '=', 'keys.notification'),
    )
    .select([
      'Notification.userId',
      'Notification.id',
      'Notification.taskId',
      'Notification.kind',
      'Notification.status',
      'Notification.revision',
      'Notification.createdAt',
    ])
    .select(before.as('before'));
}

type Published = Pick<Notification, 'userId' | 'taskId' | 'kind' | 'revision'> & { before: number };

/**
 * Selects the notifications that the published notifications superseded. It may also select some that were superseded
 * earlier. This is harmless: their deliveries are no longer wanted either.
 */
function selectSuperseded(db: Pick<Kysely<Tables & { published: Published }>, 'selectFrom'>) {
  return db
    .selectFrom('published')
    .innerJoin('Notification', (join) =>
      join
        .onRef('Notification.userId', '=', 'published.userId')
        .onRef('Notification.revision', '>', 'published.before')
        .onRef('Notification.revision', '<', 'published.revision')
        .onRef('Notification.taskId', '=', 'published.taskId')
        .onRef('Notification.kind', '=', 'published.kind')
        .on('Notification.resolvedBy', '=', 'superseded'),
    )
    .select(['Notification.userId', sql<string>`notification.id`.as('notification_id')])
    .select(sql<'settled'>`'settled'`.as('reason'));
}

/** Selects the targets of a published notification in the channels that are configured and that its user enables. */
function selectTargets(param: Param): RawBuilder<unknown> {
  return sql`
    select 'email' as channel, '' as target, 'email' as provider from contact
     where ${param('email', 'bool')} and contact.user_id = published.user_id
       and email is not null and email_suspended_at is null and ${isChannelEnabled('email')}
    union all
    select 'chat', '', 'chat' from contact
     where ${param('chat', 'bool')} and contact.user_id = published.user_id
       and chat_member_id is not null and chat_suspended_at is null and ${isChannelEnabled('chat')}
    union all
    select 'push', push_subscription.id, push_subscription.host from push_subscription
     where ${param('push', 'bool')} and push_subscription.user_id = published.user_id and ${isChannelEnabled('push')}`;
}
