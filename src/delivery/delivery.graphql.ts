import { accountRead, platform } from '../auth/access.ts';
import { builder, columnsOf, toEnumValues } from '../graphql/builder.ts';
import { defineRecordRef } from '../graphql/record-ref.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { findSelectedProperties } from '../graphql/selected-fields.ts';
import type { Notification } from '../notifications/notification.entity.ts';
import { NotificationChannelEnum } from '../notifications/notification-enums.graphql.ts';
import { NotificationUnion, UserNotification } from '../notifications/notification-type.graphql.ts';
import { findNotificationTogether, type SelectedNotification } from '../notifications/notifications.ts';
import { UserRef } from '../users/user.graphql.ts';
import { MAX_RETRIED, readDeliveries, retryDeliveries } from './deliveries.ts';
import { shownDeliveryReasons, shownDeliveryStates } from './delivery.enums.ts';
import type { ShownDelivery } from './shown-deliveries.ts';

/** Exported for the statistics. */
export const DeliveryStateEnum = builder.enumType('DeliveryState', {
  description: 'The state of a delivery.',
  values: toEnumValues(shownDeliveryStates, {
    pending: 'The delivery waits for its next attempt.',
    sending: 'An attempt is running.',
    delivered: 'The provider accepted the message.',
    failed: 'No further attempt is made unless `retryDeliveries` is called. `reason` gives the cause.',
    cancelled: 'The delivery was cancelled before it was sent. `reason` gives the cause.',
    maybe_delivered:
      'The delivery was cancelled or expired after an attempt that may have delivered the message: its reply was lost, or the sender stopped. `reason` gives the cause of the end.',
    skipped: 'No delivery was queued when the notification was published. `reason` gives the cause.',
  }),
});

const DeliveryReasonEnum = builder.enumType('DeliveryReason', {
  description: 'The reason why a delivery was skipped, cancelled, failed or retried.',
  values: toEnumValues(shownDeliveryReasons, {
    settled: 'The notification was dismissed, resolved, superseded or deleted.',
    channel_disabled: "The user's preferences disable the channel.",
    no_target:
      'The user had no address, chat member or push subscription for the channel, or the address or member was suspended.',
    no_provider: 'The gateway had no provider for the channel, so the publishing service had to deliver.',
    task_notifications_per_hour:
      'A task token published the notification, and 12 of its task that were no requests had been sent within an hour.',
    task_requests_per_hour:
      'A task token published the request, and 30 requests of its task had been sent within an hour.',
    target_removed: 'The address, chat member or push subscription was removed or suspended.',
    recipient_rejected: 'The provider refused the recipient.',
    message_rejected: 'The provider refused the message.',
    rate_limited: "The provider's rate limit is exceeded.",
    provider_unavailable: 'The provider did not respond or failed.',
    provider_refused:
      "The provider refused the gateway's credentials, its sender address, or its access to the recipient, or the provider's certificate is invalid.",
    reply_lost: 'The message was sent but the reply was lost, so the user may receive it twice.',
    lease_expired:
      'The sender stopped, or could not use the database, before it stored a result. The user may receive the message twice.',
    target_unreadable: 'The push subscription cannot be decrypted.',
    expired:
      'The next attempt, to send or to update the message, would begin more than 24 hours after the publication or the latest `retryDeliveries`.',
  }),
});

/** A delivery. */
export const DeliveryRef = builder.objectRef<ShownDelivery>('Delivery').implement({
  description:
    'The delivery of a notification to one email address, chat member or push subscription, or over one channel if it was skipped.',
  fields: (t) => ({
    userId: t.exposeID('userId', { description: 'The ID of the user who owns the notification.' }),
    notificationId: t.exposeID('notificationId', { description: "The notification's ID." }),
    notification: t.field({
      access: accountRead,
      type: NotificationUnion,
      nullable: true,
      description: 'The notification. `null` if it was deleted meanwhile.',
      resolve: async ({ userId, notificationId }, _args, { database }, info) => {
        const key = { userId, id: notificationId };
        const { notification } = await findNotificationTogether(database, key, findSelectedProperties(info));
        return notification ?? null;
      },
    }),
    ref: t.field(defineRecordRef<ShownDelivery>('Delivery', 'id')),
    channel: t.expose('channel', { type: NotificationChannelEnum, description: 'The channel.' }),
    pushSubscriptionId: t.id({
      nullable: true,
      description:
        'The ID of the push subscription. `null` for other channels and if the delivery was skipped.',
      resolve: ({ target }) => (target === '' ? null : target),
    }),
    state: t.expose('state', { type: DeliveryStateEnum, description: 'The state.' }),
    attempts: t.exposeInt('attempts', {
      description:
        'The number of attempts, including those to update a delivered chat message after its notification was dismissed, resolved or superseded.',
    }),
    reason: t.expose('reason', {
      type: DeliveryReasonEnum,
      nullable: true,
      description:
        'The reason for the skip, the cancellation or the last failure, including a failed update of a delivered chat message. `null` if there is none.',
    }),
    providerCode: t.exposeString('providerCode', {
      nullable: true,
      description: "The provider's code for `reason`, such as `550 5.1.1` or `410`. `null` if there is none.",
    }),
    nextAttemptAt: t.expose('dueAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Earliest timestamp of the next attempt. `null` unless the state is `PENDING`.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'Timestamp at which the notification was published.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'Timestamp of the last change.' }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp at which the provider accepted the message. `null` until then.',
    }),
  }),
});

builder.queryField('deliveries', (t) =>
  t.field({
    access: accountRead,
    type: [DeliveryRef],
    nullable: true,
    description:
      'Returns the deliveries of a notification, one for each target of the user: email address, chat member or push subscription. A channel without one is `SKIPPED` if, when the notification was published, it was disabled, had no target or no provider, or the task had used up its messages. Empty if the notification is unknown. A notification that was published before version 0.3.0 has no `SKIPPED` deliveries.',
    args: {
      notificationId: t.arg.id({ required: true, description: "The notification's ID." }),
    },
    resolve: (_root, { notificationId }, { database, viewer }) =>
      readDeliveries(database, { userId: viewer.userId, notificationId }),
  }),
);

builder.objectField(UserRef, 'deliveries', (t) =>
  t.field({
    access: accountRead,
    type: [DeliveryRef],
    nullable: true,
    description: 'The deliveries of a notification of the user, as the root field returns them.',
    args: { notificationId: t.arg.id({ required: true, description: "The notification's ID." }) },
    resolve: ({ userId }, { notificationId }, { database }) =>
      readDeliveries(database, { userId, notificationId }),
  }),
);

builder.interfaceField(UserNotification, 'deliveries', () =>
  columnsOf<Notification, SelectedNotification>()
    .from('userId', 'id')
    .field({
      access: accountRead,
      type: [DeliveryRef],
      nullable: true,
      description: 'The deliveries of the notification, as the root field returns them.',
      resolve: ({ userId, id }, _args, { database }) =>
        readDeliveries(database, { userId, notificationId: id }),
    }),
);

const RetryDeliveriesFilter = builder.inputType('RetryDeliveriesFilter', {
  description: 'A filter of failed deliveries. Deliveries must meet all conditions.',
  fields: (t) => ({
    channels: t.field({
      type: [NotificationChannelEnum],
      description: 'Filter by channel. Defaults to all channels. An empty list selects none.',
      validate: maxItems(100),
    }),
    userIds: t.idList({
      description: 'Filter by user. Defaults to all users. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
  }),
});

const RetryDeliveriesInput = builder.inputType('RetryDeliveriesInput', {
  description: 'The failed deliveries to retry.',
  fields: (t) => ({
    filter: t.field({ type: RetryDeliveriesFilter, description: 'Defaults to all failed deliveries.' }),
  }),
});

const RetryDeliveriesPayload = builder.objectRef<{ count: number }>('RetryDeliveriesPayload').implement({
  description: 'Result of retrying deliveries.',
  fields: (t) => ({
    count: t.exposeInt('count', {
      description: `The number of deliveries that are pending again, at most ${MAX_RETRIED}. Call again while it is ${MAX_RETRIED}.`,
    }),
  }),
});

builder.mutationField('retryDeliveries', (t) =>
  t.field({
    access: platform('platform:admin'),
    type: RetryDeliveriesPayload,
    nullable: true,
    description:
      'Makes failed deliveries pending again, for another 24 hours, including those that expired and may have been delivered. Deliveries whose notification is no longer active, whose channel is disabled, or whose target was removed or suspended stay failed.',
    args: {
      input: t.arg({
        type: RetryDeliveriesInput,
        required: true,
        description: 'The failed deliveries to retry.',
      }),
    },
    resolve: async (_root, { input: { filter } }, { database }) => ({
      count: await retryDeliveries(database.fork(), filter ?? {}),
    }),
  }),
);
