import { platform } from '../auth/access.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { ValidationIssue } from '../errors/issue.ts';
import { builder } from '../graphql/builder.ts';
import { idRule, maxItems, notAheadRule } from '../graphql/rules.ts';
import { readBySubfields } from '../graphql/selected-fields.ts';
import { NotificationKindEnum, ResolveReasonEnum } from './notification-enums.graphql.ts';
import { changedList, NotificationUnion, readForReply, replyLimit } from './notification-type.graphql.ts';
import type { SelectedNotification } from './notifications.ts';
import { type ResolveFilter, resolveNotifications } from './resolve-notifications.ts';

/** The maximum number of IDs of a call. */
const MAX_IDS = 100;

const ResolveNotificationsInput = builder.inputType('ResolveNotificationsInput', {
  description: 'The notifications to resolve.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    taskId: t.id({
      description:
        'The ID of the task whose notifications are resolved. Required unless `ids` is given, and not allowed with `ids`.',
    }),
    kinds: t.field({
      type: [NotificationKindEnum],
      description:
        "Filter the task's notifications by kind. Defaults to all kinds. An empty list selects none. Not allowed with `ids`.",
      validate: maxItems(100),
    }),
    toolId: t.id({
      description:
        "Filter the task's notifications by the tool ID in their payload, which only plans and questions have. Defaults to all notifications. Not allowed with `ids`.",
    }),
    ids: t.idList({
      description:
        "The notifications' IDs, at most 100. An empty list selects none. Unknown IDs and IDs of other users' notifications are ignored, and for a task token those of other tasks' too. Not allowed with `taskId`.",
      validate: { ...maxItems(MAX_IDS), items: idRule },
    }),
    reason: t.field({
      type: ResolveReasonEnum,
      required: true,
      description: 'The reason why the notifications are resolved.',
    }),
    before: t.field({
      type: 'DateTime',
      description:
        'Resolves notifications that occurred at or before this timestamp, including those that are published later. At most five minutes in the future. If omitted, all that are active or have an open request now are resolved. Not allowed with `ids` or `toolId`.',
      validate: notAheadRule,
    }),
  }),
});

const ResolveNotificationsPayload = builder
  .objectRef<{ notifications: readonly SelectedNotification[] }>('ResolveNotificationsPayload')
  .implement({
    description: 'Result of resolving notifications.',
    fields: (t) => ({
      notifications: t.expose('notifications', {
        type: [NotificationUnion],
        description: `The notifications that this call changed, oldest first: ${replyLimit}.`,
        extensions: { ...readBySubfields, ...changedList },
      }),
    }),
  });

builder.mutationField('resolveNotifications', (t) =>
  t.field({
    access: {
      ...platform('platform:notifications'),
      task: { userId: ['input', 'userId'], taskId: ['input', 'taskId'] },
    },
    type: ResolveNotificationsPayload,
    nullable: true,
    description:
      "Resolves active notifications of a user: a task's, or those with the given IDs. Withdraws their open requests, and those of dismissed notifications, which stay dismissed.",
    args: {
      input: t.arg({
        type: ResolveNotificationsInput,
        required: true,
        description: 'The notifications to resolve.',
      }),
    },
    resolve: async (_root, { input }, context, info) => {
      const { userId, reason } = input;
      const filter = toFilter(input, context.viewer.task?.taskId);
      const resolved = await resolveNotifications(context, userId, filter, reason);
      return { notifications: await readForReply(context, userId, resolved, info) };
    },
  }),
);

type Input = typeof ResolveNotificationsInput.$inferInput;

/** @throws {ValidationError} for arguments that cannot be combined */
function toFilter({ taskId, kinds, toolId, ids, before }: Input, ofTask: string | undefined): ResolveFilter {
  const issues: ValidationIssue[] = [];
  const refuse = (name: string, value: unknown, other: string) => {
    if (value != null) {
      issues.push({ path: ['input', name], message: `must not be combined with ${other}`, value });
    }
  };
  if (ids != null) {
    for (const [name, value] of Object.entries({ taskId, kinds, toolId, before })) refuse(name, value, 'ids');
  } else if (taskId == null) {
    issues.push({ path: ['input', 'taskId'], message: 'is required unless ids is given', value: null });
  } else if (toolId != null) {
    refuse('before', before, 'toolId');
  }
  if (issues.length > 0) throw new ValidationError(issues);
  return ids != null ? { ids, ofTask } : { taskId: taskId ?? '', kinds, toolId, occurredUpTo: before };
}
