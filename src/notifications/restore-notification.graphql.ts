import { accountWrite } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import type { Notification } from './notification.entity.ts';
import { NotificationUnion } from './notification-type.graphql.ts';
import { restoreNotification } from './restore-notification.ts';

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

builder.mutationField('restoreNotification', (t) =>
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
      const notification = await restoreNotification(context, context.viewer.userId, input.id, context.now);
      return { notification };
    },
  }),
);
