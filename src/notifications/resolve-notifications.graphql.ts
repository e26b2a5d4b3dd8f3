import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { maxItems, notAheadRule } from '../graphql/rules.ts';
import type { Notification } from './notification.entity.ts';
import { NotificationKindEnum, ResolveReasonEnum } from './notification-enums.graphql.ts';
import { NotificationUnion } from './notification-type.graphql.ts';
import { resolveNotifications } from './resolve-notifications.ts';

const ResolveNotificationsInput = builder.inputType('ResolveNotificationsInput', {
  description: 'The notifications to resolve.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    taskId: t.id({ required: true, description: 'The ID of the task that the notifications are about.' }),
    kinds: t.field({
      type: [NotificationKindEnum],
      description: 'Filter by kind. Defaults to all kinds. An empty list selects none.',
      validate: maxItems(100),
    }),
    reason: t.field({
      type: ResolveReasonEnum,
      required: true,
      description: 'The reason why the notifications are resolved.',
    }),
    before: t.field({
      type: 'DateTime',
      description:
        'Resolves notifications that occurred at or before this timestamp, including those that are published later. At most five minutes in the future. If omitted, all notifications that are active now are resolved.',
      validate: notAheadRule,
    }),
  }),
});

const ResolveNotificationsPayload = builder
  .objectRef<{ notifications: Notification[] }>('ResolveNotificationsPayload')
  .implement({
    description: 'Result of resolving notifications.',
    fields: (t) => ({
      notifications: t.expose('notifications', {
        type: [NotificationUnion],
        description: 'The notifications that this call resolved, oldest first.',
      }),
    }),
  });

builder.mutationField('resolveNotifications', (t) =>
  t.field({
    access: platform('platform:notifications'),
    type: ResolveNotificationsPayload,
    nullable: true,
    description: "Resolves a task's active notifications. Dismissed notifications stay dismissed.",
    args: {
      input: t.arg({
        type: ResolveNotificationsInput,
        required: true,
        description: 'The notifications to resolve.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const { userId, taskId, kinds, before, reason } = input;
      const filter = { taskId, kinds, occurredUpTo: before };
      return { notifications: await resolveNotifications(context, userId, filter, reason, context.now) };
    },
  }),
);
