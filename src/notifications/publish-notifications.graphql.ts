import { z } from 'zod';
import { platform } from '../auth/access.ts';
import type { Task } from '../auth/viewer.ts';
import type { Context } from '../context.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { ValidationIssue } from '../errors/issue.ts';
import { builder } from '../graphql/builder.ts';
import {
  boundedLine,
  boundedText,
  maxItems,
  notAheadRule,
  wholeNumberRule,
  withinYearRule,
  YEAR_SECONDS,
} from '../graphql/rules.ts';
import { contentSizeNote, payloadSizeNote } from '../values/constraints.ts';
import { MAX_LENGTH } from '../values/text.ts';
import { asksUser, toAnswerContent } from './answers/answer.ts';
import { SupersedeScopeEnum } from './answers/answer-enums.graphql.ts';
import { DefaultAnswerInput, toGivenAnswer } from './answers/answer-input.graphql.ts';
import type { NotificationDraft, RequestDraft } from './notification-draft.ts';
import { NotificationChannelEnum } from './notification-enums.graphql.ts';
import { NotificationUnion } from './notification-type.graphql.ts';
import type { NotificationContent } from './payload.ts';
import { NotificationPayloadInput, toContent } from './payload-input.graphql.ts';
import { type Publication, type PublishRequest, publishNotifications } from './publish-notifications.ts';

const NotificationTaskInput = builder.inputType('NotificationTaskInput', {
  description: 'The task that a notification is about.',
  fields: (t) => ({
    id: t.id({ required: true, description: "The task's ID." }),
    projectId: t.id({ required: true, description: 'The ID of the project that the task belongs to.' }),
    name: t.string(boundedText("The task's name.", MAX_LENGTH.name)),
    workspaceId: t.string(
      boundedText(
        'The ID of the workspace that the task runs in. Not allowed for a task token.',
        MAX_LENGTH.name,
      ),
    ),
  }),
});

const PublishNotificationInput = builder.inputType('PublishNotificationInput', {
  description: 'A notification to publish.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'The ID of the user who receives the notification.' }),
    id: t.id({
      description:
        "The notification's ID, which makes retries safe. Defaults to a generated UUID. A repeated `id` returns the stored notification if the content is the same, and otherwise fails with `CONFLICT`. For a task token, it must begin with the percent-encoded ID of the task and a colon: `task-1:plan`.",
    }),
    task: t.field({
      type: NotificationTaskInput,
      required: true,
      description: 'The task that the notification is about.',
    }),
    title: t.string({ required: true, ...boundedLine('The title, one line of text.', MAX_LENGTH.title) }),
    payload: t.field({
      type: NotificationPayloadInput,
      required: true,
      description: `The payload, which determines the kind. ${payloadSizeNote}`,
    }),
    occurredAt: t.field({
      type: 'DateTime',
      description:
        'Timestamp at which the event occurred in the task. At most five minutes in the future. Defaults to the current time, or to the `occurredAt` of the newest of those with which it is ordered if that is later: see `supersedes`.',
      validate: notAheadRule,
    }),
    previewText: t.string(
      boundedText('A short preview of the response or error message.', MAX_LENGTH.preview),
    ),
    prUrl: t.field({ type: 'URL', description: "The URL of the task's pull request." }),
    projectName: t.string(boundedText("The project's name.", MAX_LENGTH.name)),
    projectRepoUrl: t.field({ type: 'URL', description: "The URL of the project's repository." }),
    supersedes: t.field({
      type: SupersedeScopeEnum,
      defaultValue: 'task_and_kind',
      description: 'Which earlier notifications of the task and kind it supersedes.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description:
        'Timestamp at which an open request expires. In the future, at most a year ahead. Defaults to never.',
      validate: withinYearRule,
    }),
    expiresInSeconds: t.int({
      description:
        'The time from publication until an open request expires, 1 to 31,536,000 seconds. Not allowed with `expiresAt`.',
      validate: wholeNumberRule(1, YEAR_SECONDS),
    }),
    onExpiry: t.field({
      type: DefaultAnswerInput,
      description: `The answer that the request has if it expires. If omitted, it then has none. Requires \`expiresAt\` or \`expiresInSeconds\`. ${contentSizeNote}`,
    }),
  }),
});

const PublishNotificationPayload = builder.objectRef<Publication>('PublishNotificationPayload').implement({
  description: 'Result of publishing a notification.',
  fields: (t) => ({
    notification: t.expose('notification', {
      type: NotificationUnion,
      description: 'The stored notification.',
    }),
    created: t.exposeBoolean('created', {
      description: '`false` if the same notification was published before.',
    }),
    channels: t.field({
      type: [NotificationChannelEnum],
      description:
        "The channels that the user's preferences enabled for this kind when the notification was published.",
      resolve: ({ channels }) => channels,
    }),
    deliverByCaller: t.field({
      type: [NotificationChannelEnum],
      description:
        'The `channels` over which the caller must deliver the notification, because the gateway had no provider for them when it was published. A repeated call returns them again, while the notification is active and for at most 24 hours after its publication. Empty otherwise.',
      resolve: ({ deliverByCaller }) => deliverByCaller,
    }),
  }),
});

/** The maximum number of notifications of a call. */
const MAX_BATCH = 100;

const PublishNotificationsInput = builder.inputType('PublishNotificationsInput', {
  description: 'The notifications to publish.',
  fields: (t) => ({
    notifications: t.field({
      type: [PublishNotificationInput],
      required: true,
      description: `The notifications, at most ${MAX_BATCH}. They can be for different users.`,
      validate: maxItems(MAX_BATCH),
    }),
  }),
});

const PublishNotificationsPayload = builder
  .objectRef<{ results: Publication[] }>('PublishNotificationsPayload')
  .implement({
    description: 'Result of publishing notifications.',
    fields: (t) => ({
      results: t.expose('results', {
        type: [PublishNotificationPayload],
        description: 'One result for each notification, in the order of the input.',
        extensions: { listLength: MAX_BATCH },
      }),
    }),
  });

/** Each notification of a call costs a point; an empty call costs one too. A longer list is rejected after the charge. */
function countPoints(args: object): number {
  return Math.min(Math.max(1, Batch.parse(args).input.notifications.length), MAX_BATCH);
}

const Batch = z.object({ input: z.object({ notifications: z.array(z.unknown()) }) });

builder.mutationFields((t) => ({
  publishNotification: t.field({
    access: {
      ...platform('platform:notifications'),
      task: { userId: ['input', 'userId'], taskId: ['input', 'task', 'id'] },
    },
    type: PublishNotificationPayload,
    nullable: true,
    description:
      "Publishes a notification to a user's inbox. By default, at most one notification per task and kind is active, the latest by `occurredAt`: earlier notifications are resolved as `SUPERSEDED`, and their open requests withdrawn. Plans, questions and responses of tasks that await input are requests, which the user can answer.",
    args: {
      input: t.arg({
        type: PublishNotificationInput,
        required: true,
        description: 'The notification to publish.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      if (context.viewer.task) checkTaskInput(context.viewer.task, input);
      const request = { userId: input.userId, draft: toDraft(input, ['input']), path: ['input'] };
      const [publication] = await publish(context, [request]);
      return publication;
    },
  }),
  publishNotifications: t.field({
    access: { ...platform('platform:notifications'), points: countPoints },
    type: PublishNotificationsPayload,
    nullable: true,
    description:
      'Publishes notifications in order, as `publishNotification` does. A conflict rejects the whole call. Each notification costs one point of the rate limit.',
    args: {
      input: t.arg({
        type: PublishNotificationsInput,
        required: true,
        description: 'The notifications to publish.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const requests = input.notifications.map((given, index) => {
        const path = ['input', 'notifications', index];
        return { userId: given.userId, draft: toDraft(given, path), path };
      });
      return { results: await publish(context, requests) };
    },
  }),
}));

/** Publishes notifications, and adds their IDs, which may be generated, to the log line of the request. */
async function publish(context: Context, requests: readonly PublishRequest[]): Promise<Publication[]> {
  const byTask = context.viewer.task !== undefined;
  const publications = await publishNotifications(context, requests, byTask);
  for (const { notification, created } of publications) {
    const { userId, id, kind } = notification;
    context.published.push({ user: userId, notification: id, kind, created });
  }
  return publications;
}

type PublishInput = typeof PublishNotificationInput.$inferInput;

/**
 * Checks what a task token must not publish: an ID that another task could use, a link to a workspace, an answer that no
 * user gave, and any number of active notifications that are no requests, of which it may have few.
 * @throws {ValidationError}
 */
function checkTaskInput(
  { taskId }: Task,
  { id, task: { workspaceId }, supersedes, onExpiry, payload }: PublishInput,
): void {
  const issues: ValidationIssue[] = [];
  const refuse = (path: string[], message: string, value: unknown) =>
    issues.push({ path: ['input', ...path], message, value });
  const prefix = `${encodeURIComponent(taskId)}:`;
  if (id != null && !id.startsWith(prefix))
    refuse(['id'], `must begin with "${prefix}" for a task token`, id);
  const omitted = 'must be omitted for a task token';
  if (workspaceId != null) refuse(['task', 'workspaceId'], omitted, workspaceId);
  if (onExpiry != null) refuse(['onExpiry'], omitted, onExpiry);
  if (
    supersedes !== 'task_and_kind' &&
    supersedes != null &&
    !asksUser(toContent(payload, ['input', 'payload']))
  ) {
    const message = 'must be TASK_AND_KIND for a task token, because the notification asks for no answer';
    refuse(['supersedes'], message, supersedes);
  }
  if (issues.length > 0) throw new ValidationError(issues);
}

function toDraft({ task, ...input }: PublishInput, path: readonly (string | number)[]): NotificationDraft {
  const content = toContent(input.payload, [...path, 'payload']);
  return {
    ...content,
    ...toRequestDraft(input, content, path),
    id: input.id ?? null,
    taskId: task.id,
    taskName: task.name ?? null,
    projectId: task.projectId,
    projectName: input.projectName ?? null,
    projectRepoUrl: input.projectRepoUrl ?? null,
    workspaceId: task.workspaceId ?? null,
    title: input.title,
    previewText: input.previewText ?? null,
    prUrl: input.prUrl ?? null,
    occurredAt: input.occurredAt ?? null,
  };
}

/** @throws {ValidationError} for arguments that cannot be combined, or that only requests can have */
function toRequestDraft(
  { supersedes, expiresAt, expiresInSeconds, onExpiry }: Omit<PublishInput, 'task'>,
  content: NotificationContent,
  path: readonly (string | number)[],
): RequestDraft {
  const issues: ValidationIssue[] = [];
  const refuse = (name: string, value: unknown, message: string) => {
    if (value != null) issues.push({ path: [...path, name], message, value });
  };
  if (!asksUser(content)) {
    const message = 'must be omitted, because the notification asks for no answer';
    for (const [name, value] of Object.entries({ expiresAt, expiresInSeconds, onExpiry }))
      refuse(name, value, message);
  } else if (expiresAt == null && expiresInSeconds == null) {
    refuse('onExpiry', onExpiry, 'requires expiresAt or expiresInSeconds');
  } else if (expiresAt != null) {
    refuse('expiresInSeconds', expiresInSeconds, 'must not be combined with expiresAt');
  }
  if (issues.length > 0) throw new ValidationError(issues);
  const at = [...path, 'onExpiry'];
  return {
    supersedes: supersedes ?? 'task_and_kind',
    expiresAt: expiresAt ?? null,
    expiresInSeconds: expiresInSeconds ?? null,
    onExpiry: onExpiry ? toAnswerContent(content, toGivenAnswer(onExpiry, at), at) : null,
  };
}
