import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { maxItems, notAheadRule } from '../graphql/rules.ts';
import type { Notification } from './notification.entity.ts';
import { NotificationUnion } from './notification.graphql.ts';
import { NotificationKindEnum, ResolveReasonEnum } from './notification-enums.graphql.ts';
import { resolveNotifications } from './resolve-notifications.ts';

const ResolveNotificationsInput = builder.inputType('ResolveNotificationsInput', {
  description: 'Which notifications to resolve.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Whose inbox.' }),
    taskId: t.id({ required: true, description: 'The task they are about.' }),
    kinds: t.field({
      type: [NotificationKindEnum],
      description: 'Only these kinds; all unless told.',
      validate: maxItems(100),
    }),
    reason: t.field({ type: ResolveReasonEnum, required: true, description: 'Why.' }),
    before: t.field({
      type: 'DateTime',
      description:
        'Resolves only notifications that occurred up to then, and those that arrive later; at most five minutes in the future. Defaults to all active ones.',
      validate: notAheadRule,
    }),
  }),
});

const ResolveNotificationsPayload = builder
  .objectRef<{ notifications: Notification[] }>('ResolveNotificationsPayload')
  .implement({
    description: 'The notifications that were active and are resolved now, oldest first.',
    fields: (t) => ({
      notifications: t.expose('notifications', {
        type: [NotificationUnion],
        description: 'As they are now.',
      }),
    }),
  });

builder.mutationField('resolveNotifications', (t) =>
  t.field({
    access: platform('platform:write'),
    type: ResolveNotificationsPayload,
    nullable: true,
    description: "Resolves a task's active notifications; others stay as they are.",
    args: { input: t.arg({ type: ResolveNotificationsInput, required: true, description: 'Which ones.' }) },
    resolve: async (_root, { input }, context) => {
      const { userId, reason, ...filter } = input;
      return { notifications: await resolveNotifications(context, userId, filter, reason, context.now) };
    },
  }),
);
