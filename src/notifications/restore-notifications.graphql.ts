import { accountWrite } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { readBySubfields, reads } from '../graphql/selected-fields.ts';
import type { Notification } from './notification.entity.ts';
import { changedList, NotificationUnion, readForReply, replyLimit } from './notification-type.graphql.ts';
import type { SelectedNotification } from './notifications.ts';
import { restoreNotification, restoreNotifications } from './restore-notifications.ts';
import { parseUndoToken } from './undo-token.ts';

const RestoreNotificationInput = builder.inputType('RestoreNotificationInput', {
  description: 'The notification to restore.',
  fields: (t) => ({ id: t.id({ required: true, description: "The notification's ID." }) }),
});

const RestoreNotificationPayload = builder
  .objectRef<{ notification: Notification }>('RestoreNotificationPayload')
  .implement({
    description: 'Result of restoring a notification.',
    fields: (t) => ({
      notification: t.expose('notification', {
        type: NotificationUnion,
        description: 'The restored notification.',
      }),
    }),
  });

export const restoreNotificationField = 'restoreNotification';

builder.mutationField(restoreNotificationField, (t) =>
  t.field({
    access: accountWrite,
    type: RestoreNotificationPayload,
    nullable: true,
    description:
      'Undoes the dismissal of a notification. It is active again, unless it was resolved, or a later notification of its task and kind has taken its place meanwhile; it is then resolved. If it is not dismissed, nothing changes.',
    args: {
      input: t.arg({
        type: RestoreNotificationInput,
        required: true,
        description: 'The notification to restore.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const notification = await restoreNotification(context, context.viewer.userId, input.id);
      return { notification };
    },
  }),
);

const RestoreNotificationsInput = builder.inputType('RestoreNotificationsInput', {
  description: 'The notifications to restore: a list of IDs, or a dismissal.',
  isOneOf: true,
  fields: (t) => ({
    ids: t.idList({
      description:
        "The notifications' IDs, at most 100. Unknown IDs and IDs of other users' notifications are ignored.",
      validate: { ...maxItems(100), items: idRule },
    }),
    undoToken: t.string({
      description:
        'The `undoToken` of `dismissNotifications`. Restores all that the call dismissed and that are still dismissed by it.',
    }),
  }),
});

/** The notifications that were restored. */
type Restored = { readonly ids: string[]; readonly notifications: readonly SelectedNotification[] };

const RestoreNotificationsPayload = builder.objectRef<Restored>('RestoreNotificationsPayload').implement({
  description: 'Result of restoring notifications.',
  fields: (t) => ({
    restoredCount: t.int({
      description: 'The number of notifications that this call restored.',
      extensions: reads(),
      resolve: ({ ids }) => ids.length,
    }),
    notifications: t.expose('notifications', {
      type: [NotificationUnion],
      description: `The notifications that this call restored, oldest first: ${replyLimit}.`,
      extensions: { ...readBySubfields, ...changedList },
    }),
  }),
});

export const restoreNotificationsField = 'restoreNotifications';

builder.mutationField(restoreNotificationsField, (t) =>
  t.field({
    access: accountWrite,
    type: RestoreNotificationsPayload,
    nullable: true,
    description:
      'Undoes the dismissals of several notifications, each as `restoreNotification` does. Those of an `undoToken` are restored 500 at a time, oldest first: if the call fails, it may have restored some, and the same call restores the others.',
    args: {
      input: t.arg({
        type: RestoreNotificationsInput,
        required: true,
        description: 'The notifications to restore.',
      }),
    },
    resolve: async (_root, { input: { ids, undoToken } }, context, info) => {
      const { userId } = context.viewer;
      const filter =
        undoToken == null ? { ids: ids ?? [] } : parseUndoToken(undoToken, ['input', 'undoToken']);
      const restored = await restoreNotifications(context, userId, filter);
      return { ids: restored, notifications: await readForReply(context, userId, restored, info) };
    },
  }),
);
