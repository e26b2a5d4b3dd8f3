import { accountWrite } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { readBySubfields, reads } from '../graphql/selected-fields.ts';
import { parseEventCursor } from '../revisions/event-cursor.ts';
import { dismissNotification } from './dismiss-notification.ts';
import { type Dismissed, type DismissFilter, dismissNotifications } from './dismiss-notifications.ts';
import type { Notification } from './notification.entity.ts';
import { NotificationKindEnum } from './notification-enums.graphql.ts';
import { changedList, NotificationUnion, readForReply, replyLimit } from './notification-type.graphql.ts';
import type { SelectedNotification } from './notifications.ts';
import { formatUndoToken } from './undo-token.ts';

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
    resolve: async (_root, { input }, context) => {
      const notification = await dismissNotification(context, context.viewer.userId, input.id);
      return { notification };
    },
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
    projectIds: t.idList({
      description: 'Filter by project. Defaults to all projects. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    openRequests: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Whether notifications with an open request are dismissed, too. The requests stay open.',
    }),
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

/** What was dismissed, and the notifications to return. */
type Payload = Dismissed & { readonly notifications: readonly SelectedNotification[] };

const DismissNotificationsPayload = builder.objectRef<Payload>('DismissNotificationsPayload').implement({
  description: 'Result of dismissing notifications.',
  fields: (t) => ({
    dismissedCount: t.int({
      description:
        'The number of notifications that this call dismissed. Notifications that were dismissed before are not counted.',
      extensions: reads(),
      resolve: ({ ids }) => ids.length,
    }),
    notifications: t.expose('notifications', {
      type: [NotificationUnion],
      description: `The notifications that this call dismissed, oldest first: ${replyLimit}. Notifications that were dismissed before are omitted.`,
      extensions: { ...readBySubfields, ...changedList },
    }),
    undoToken: t.string({
      nullable: true,
      description:
        'Undoes this call, in `restoreNotifications`, however many notifications it dismissed. `null` if it dismissed none.',
      extensions: reads(),
      resolve: ({ dismissal }) => dismissal && formatUndoToken(dismissal),
    }),
  }),
});

export const dismissNotificationsField = 'dismissNotifications';

builder.mutationField(dismissNotificationsField, (t) =>
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
    resolve: async (_root, { input: { ids, filter } }, context, info) => {
      const { viewer } = context;
      const chosen = filter ? toSeenFilter(filter) : { ids: ids ?? [] };
      const dismissed = await dismissNotifications(context, viewer.userId, chosen);
      const notifications = await readForReply(context, viewer.userId, dismissed.ids, info);
      return { ...dismissed, notifications };
    },
  }),
);

function toSeenFilter({
  kinds = null,
  projectIds = null,
  openRequests,
  upTo,
}: typeof DismissFilterInput.$inferInput): DismissFilter {
  return { kinds, projectIds, openRequests, upTo: parseEventCursor(upTo, ['input', 'filter', 'upTo']) };
}
