import { accountWrite } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { parseEventCursor } from '../revisions/event-cursor.ts';
import { type DismissFilter, dismissNotification, dismissNotifications } from './dismiss-notifications.ts';
import type { Notification } from './notification.entity.ts';
import { NotificationKindEnum } from './notification-enums.graphql.ts';
import { NotificationUnion } from './notification-type.graphql.ts';

const DismissNotificationInput = builder.inputType('DismissNotificationInput', {
  description: 'The notification to dismiss.',
  fields: (t) => ({ id: t.id({ required: true, description: "The notification's ID." }) }),
});

const DismissNotificationPayload = builder
  .objectRef<{ notification: Notification }>('DismissNotificationPayload')
  .implement({
    description: 'Result of dismissing a notification.',
    fields: (t) => ({
      notification: t.expose('notification', {
        type: NotificationUnion,
        description: 'The dismissed notification.',
      }),
    }),
  });

export const dismissNotificationField = 'dismissNotification';

builder.mutationField(dismissNotificationField, (t) =>
  t.field({
    access: accountWrite,
    type: DismissNotificationPayload,
    nullable: true,
    description: 'Dismisses a notification, whatever its status. Dismissing it again changes nothing.',
    args: {
      input: t.arg({
        type: DismissNotificationInput,
        required: true,
        description: 'The notification to dismiss.',
      }),
    },
    resolve: async (_root, { input }, context) => ({
      notification: await dismissNotification(context, context.viewer.userId, input.id, context.now),
    }),
  }),
);

const DismissFilterInput = builder.inputType('DismissNotificationsFilter', {
  description: 'A filter for active notifications that the user has seen.',
  fields: (t) => ({
    kinds: t.field({
      type: [NotificationKindEnum],
      description: 'Filter by kind. Defaults to all kinds. An empty list selects none.',
      validate: maxItems(100),
    }),
    projectId: t.id({ description: 'Filter by project. Defaults to all projects.' }),
    upTo: t.string({
      required: true,
      description:
        'The newest event cursor from `notificationCounts` or `notificationEvents` that the user has seen. Notifications that changed after it are not dismissed.',
    }),
  }),
});

const DismissNotificationsInput = builder.inputType('DismissNotificationsInput', {
  description: 'The notifications to dismiss: a list of IDs, or a filter.',
  isOneOf: true,
  fields: (t) => ({
    ids: t.idList({
      description:
        "The notifications' IDs, at most 100. Unknown IDs and IDs of other users' notifications are ignored.",
      validate: { ...maxItems(100), items: idRule },
    }),
    filter: t.field({
      type: DismissFilterInput,
      description: 'A filter for active notifications that the user has seen.',
    }),
  }),
});

const DismissNotificationsPayload = builder
  .objectRef<{ notifications: Notification[] }>('DismissNotificationsPayload')
  .implement({
    description: 'Result of dismissing notifications.',
    fields: (t) => ({
      notifications: t.expose('notifications', {
        type: [NotificationUnion],
        description:
          'The notifications that this call dismissed. Notifications that were dismissed before are omitted.',
      }),
    }),
  });

builder.mutationField('dismissNotifications', (t) =>
  t.field({
    access: accountWrite,
    type: DismissNotificationsPayload,
    nullable: true,
    description: 'Dismisses several notifications at once.',
    args: {
      input: t.arg({
        type: DismissNotificationsInput,
        required: true,
        description: 'The notifications to dismiss.',
      }),
    },
    resolve: async (_root, { input: { ids, filter } }, context) => {
      const { viewer, now } = context;
      const chosen = filter ? toSeenFilter(filter) : { ids: ids ?? [] };
      return { notifications: await dismissNotifications(context, viewer.userId, chosen, now) };
    },
  }),
);

function toSeenFilter({
  kinds = null,
  projectId = null,
  upTo,
}: typeof DismissFilterInput.$inferInput): DismissFilter {
  return { kinds, projectId, upTo: parseEventCursor(upTo, ['input', 'filter', 'upTo']) };
}
