import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { DeliveryConfig } from '../config.ts';
import type { Tables } from '../database/database.ts';
import type { Outbox, PublishedKeys } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { isDeliverable, isTarget, lifetime, mayQueue } from '../notifications/channel-decision.ts';
import type { Notification } from '../notifications/notification.entity.ts';
import { isChannelEnabled } from '../notifications/preferences/channels.ts';
import { selectFromKeys } from '../notifications/publish-notifications.ts';
import { type DeliveryChannel, deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import type { Delivery } from './delivery.entity.ts';
import type { CancelReason, DeliveryState, DeliveryStep } from './delivery.enums.ts';
import {
  deliveryKey,
  matchesNotificationIn,
  searchableChannels,
  selectWithTargets,
  unwantedReason,
} from './select-deliveries.ts';

/** Creates the outbox of the configured channels. Rows are queued whether or not this process sends them. */
export function createOutbox(config: DeliveryConfig): Outbox {
  const channels = new Set(deliveryChannels.filter((channel) => config[channel] !== null));
  const emailDelay = config.email?.delaySeconds ?? 0;
  const enabled = { email: channels.has('email'), push: channels.has('push'), chat: channels.has('chat') };

  return {
    channels,
    async queuePublished(run, published, now) {
      if (channels.size > 0) await run(insertDeliveries, { ...published, now, emailDelay, ...enabled });
    },
    async cancelUnwanted(run, users) {
      if (channels.size > 0) await run(cancelUnwantedDeliveries, { users });
    },
    async cancelUnwantedIn(db, users) {
      if (channels.size > 0) await cancelUnwantedOf(db, sql`${users}::text[]`).execute();
    },
  };
}

type Input = PublishedKeys & Readonly<Record<DeliveryChannel, boolean>> & { emailDelay: number; now: Time };

/**
 * Queues one delivery per active published notification, enabled channel and target. Cancels the deliveries of
 * superseded notifications.
 */
export const insertDeliveries = defineStatement((db, params: Params<Input>) => {
  const emailDelay = params.param('emailDelay', 'int');
  const dueAt = sql`now() + make_interval(secs => case targets.channel when 'email' then ${emailDelay} else 0 end)`;
  return db
    .with('published', (db) => selectPublished(db, params))
    .with('reasons', (db) => selectSuperseded(db, params))
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
      'firstDueAt',
      'expiresAt',
      'createdAt',
      'updatedAt',
    ])
    .expression((eb) =>
      eb
        .selectFrom('published')
        .leftJoin('NotificationPreference', (join) =>
          join
            .onRef('NotificationPreference.userId', '=', 'published.userId')
            .onRef('NotificationPreference.notificationKind', '=', 'published.kind'),
        )
        .innerJoinLateral(
          selectTargets(params).as<'targets'>(sql`targets (channel, target, provider)`),
          (join) => join.onTrue(),
        )
        .select(({ ref }) => [
          'published.userId',
          'published.id',
          'targets.channel',
          'targets.target',
          'targets.provider',
          sql.lit('pending').as('state'),
          dueAt.as('dueAt'),
          dueAt.as('firstDueAt'),
          sql`${ref('published.createdAt')} + ${lifetime}`.as('expiresAt'),
          'published.createdAt',
          sql`now()`.as('updatedAt'),
        ])
        .where(isDeliverable('published')),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('channel');
});

/** Selects the published notifications. */
function selectPublished(db: Pick<Kysely<Tables>, 'selectFrom'>, params: Params<PublishedKeys>) {
  return selectFromKeys(db, params).select([
    'Notification.userId',
    'Notification.id',
    'Notification.kind',
    'Notification.status',
    'Notification.createdAt',
    'Notification.skippedChannels',
    'Notification.byTask',
  ]);
}

type Published = Pick<Notification, 'userId'>;

/**
 * Selects the notifications that the published notifications superseded: this change has given them their revisions, so
 * they are newer than the user's last notification that was not changed since `now`. It may also select some that were
 * settled by another change since then. This is harmless: their deliveries are no longer wanted either.
 */
function selectSuperseded(
  db: Pick<Kysely<Tables & { published: Published }>, 'selectFrom'>,
  { param }: Params<Input>,
) {
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom('published')
        .select('userId')
        .select((eb) =>
          eb.fn
            .coalesce(
              eb
                .selectFrom('Notification')
                .select('revision')
                .whereRef('Notification.userId', '=', 'published.userId')
                .where('updatedAt', '<', param('now', 'timestamptz'))
                .orderBy('revision', 'desc')
                .limit(sql.lit(1)),
              sql.lit(0),
            )
            .as('before'),
        )
        .groupBy('userId')
        .as('changed'),
    )
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom('Notification')
          .select(['userId', 'id', 'status'])
          .whereRef('Notification.userId', '=', 'changed.userId')
          .whereRef('Notification.revision', '>', 'changed.before')
          // Makes PostgreSQL use the index of changes, even if the statement was prepared while the table was empty.
          .orderBy('Notification.revision')
          .as('newer'),
      (join) => join.onTrue(),
    )
    .where('newer.status', '=', sql.lit<'resolved'>('resolved'))
    .select(['newer.userId', 'newer.id as notificationId'])
    .select(sql<'settled'>`'settled'`.as('reason'));
}

/** Selects the targets of a published notification in the channels that are configured, that its user enables, and
 * that the decision at its publication allows. */
function selectTargets({
  param,
}: Params<Input>): RawBuilder<Pick<Delivery, 'channel' | 'target' | 'provider'>> {
  const select = (
    channel: DeliveryChannel,
    table: 'Contact' | 'PushSubscription',
    target: RawBuilder<unknown>,
  ) =>
    sql`select ${sql.lit(channel)}, ${target} from ${sql.table(table)}
      where ${param(channel, 'bool')} and ${sql.ref(`${table}.userId`)} = ${sql.ref('published.userId')}
        and ${isTarget[channel]} and ${isChannelEnabled(channel)}
        and ${mayQueue(channel, sql.ref<number>('published.skippedChannels'), sql.ref('published.byTask'))}`;
  return sql`(${select('email', 'Contact', sql`'', 'email'`)}
    union all ${select('chat', 'Contact', sql`'', 'chat'`)}
    union all ${select('push', 'PushSubscription', sql`id, host`)})`;
}

/** Cancels the deliveries of these users that are no longer wanted. */
export const cancelUnwantedDeliveries = defineStatement(
  (db, { param }: Params<{ users: readonly string[] }>) => cancelUnwantedOf(db, param('users', 'text[]')),
);

/**
 * Checks all open deliveries of these users, and cancels those that are no longer wanted. A delivery is open while a
 * later change can still cancel it or, if its message was delivered, queue an update of the message. A user has few
 * open deliveries.
 */
function cancelUnwantedOf(db: Kysely<Tables>, users: RawBuilder<readonly string[]>) {
  return db
    .with('reasons', (db) =>
      selectWithTargets(db)
        .select(deliveryKey)
        .select(unwantedReason.as('reason'))
        .where('Delivery.userId', '=', sql<string>`any(${users})`)
        .where('Delivery.isOpen', '=', sql.lit(true)),
    )
    .with('cancelled', (db) =>
      cancelDeliveries(db)
        .whereRef('Delivery.channel', '=', 'reasons.channel')
        .whereRef('Delivery.target', '=', 'reasons.target'),
    )
    .selectFrom('cancelled')
    .select('userId');
}

/** Why one delivery, or every delivery of a notification, is no longer wanted; null if it still is. */
type Reason = { userId: string; notificationId: string; reason: CancelReason | null };

const state = sql.ref('Delivery.state');
const dueAt = sql.ref('Delivery.dueAt');

/**
 * How long after a change the sender looks for a message that an attempt may have delivered. The provider may still be
 * accepting it.
 */
const SEARCH_DELAY = sql.raw(`interval '10 s'`);

/** Whether the sender must look for the message before the delivery can end. */
const mustSearch = sql<boolean>`(${state} = 'pending' and ${sql.ref('Delivery.mayBeDelivered')}
  and ${sql.ref('Delivery.channel')} in (${sql.join(searchableChannels.map((channel) => sql.lit(channel)))}))`;

/**
 * For each row of the common table expression `reasons`, applies its reason to the open deliveries of its notification.
 * The caller can add conditions, so that a reason applies to one delivery only. Changed deliveries are no longer open
 * (`isOpen` is false), with one exception:
 *
 * - A pending delivery is cancelled if there is a reason. If an attempt may have delivered its message and the channel
 *   can search for it, the sender does so first. The delivery stays pending until then, and open unless it is settled.
 * - If the reason is `settled`, a delivered message that can be changed is queued again to be updated (step `update`).
 * - If the reason is `settled` and the delivery is being sent, its state stays and `isOpen` becomes false. If the
 *   attempt then delivers a message that can be changed, `storeDelivered` queues the update.
 */
function cancelDeliveries<With extends Reason>(db: Pick<Kysely<Tables & { reasons: With }>, 'updateTable'>) {
  return db
    .updateTable('Delivery')
    .from('reasons')
    .set({
      state: sql<DeliveryState>`case when ${mustSearch} or ${state} = 'delivered' then 'pending'
        when ${state} = 'pending' then 'cancelled' else ${state} end`,
      step: sql<DeliveryStep>`case ${state} when 'delivered' then 'update' else ${sql.ref('Delivery.step')} end`,
      dueAt: sql`case when ${state} = 'delivered' then now()
        when ${mustSearch} then least(${dueAt}, now() + ${SEARCH_DELAY}) else ${dueAt} end`,
      firstDueAt: sql`case ${state} when 'delivered' then now() else ${sql.ref('Delivery.firstDueAt')} end`,
      reason: sql<CancelReason>`case when ${state} = 'pending' and not ${mustSearch} then reasons.reason
        else ${sql.ref('Delivery.reason')} end`,
      isOpen: sql<boolean>`${mustSearch} and reasons.reason <> 'settled'`,
      updatedAt: sql`now()`,
    })
    .where(matchesNotificationIn('reasons'))
    .where('Delivery.isOpen', '=', sql.lit(true))
    .where(
      sql<boolean>`((${state} = 'pending' and reasons.reason is not null) or reasons.reason = 'settled')`,
    )
    .returning('Delivery.userId');
}
