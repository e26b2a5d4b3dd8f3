import { z } from 'zod';
import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { boundedText, linkUrl, maxItems, notAheadRule } from '../graphql/rules.ts';
import { MAX_LENGTH } from '../values/text.ts';
import { NotificationUnion } from './notification.graphql.ts';
import type { NotificationDraft } from './notification-draft.ts';
import { NotificationPayloadInput, toContent } from './payload-input.graphql.ts';
import { channels } from './preferences/preferences.ts';
import { type Publication, publishNotifications } from './publish-notifications.ts';

const NotificationTaskInput = builder.inputType('NotificationTaskInput', {
  description: 'The task that a notification is about.',
  fields: (t) => ({
    id: t.id({ required: true, description: "The task's id." }),
    projectId: t.id({ required: true, description: 'The project it belongs to.' }),
    name: t.string(boundedText('The name of the task.', MAX_LENGTH.name)),
    workspaceId: t.string(boundedText('The ID of the workspace that the task runs in.', MAX_LENGTH.name)),
  }),
});

const PublishNotificationInput = builder.inputType('PublishNotificationInput', {
  description: 'A notification for a user.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Whose inbox it goes to.' }),
    id: t.id({ description: 'Its id; given by the caller it makes a retry safe. Made up unless told.' }),
    task: t.field({ type: NotificationTaskInput, required: true, description: 'The task it is about.' }),
    title: t.string({ required: true, ...boundedText('One line for people.', MAX_LENGTH.title) }),
    payload: t.field({ type: NotificationPayloadInput, required: true, description: 'What it tells.' }),
    occurredAt: t.field({
      type: 'DateTime',
      description:
        'When it happened; at most five minutes in the future. Defaults to the later of now and the newest of the task and kind. One from before the newest is stored as resolved.',
      validate: notAheadRule,
    }),
    previewText: t.string(boundedText('The beginning of its text.', MAX_LENGTH.preview)),
    prUrl: t.string(linkUrl("The task's pull request.")),
    projectName: t.string(boundedText("The project's name.", MAX_LENGTH.name)),
    projectRepoUrl: t.string(linkUrl("The project's repository.")),
  }),
});

const ChannelEnum = builder.enumType('NotificationChannel', {
  description: 'A way to reach a user.',
  values: {
    EMAIL: { value: 'emailEnabled', description: 'Electronic mail.' },
    PUSH: { value: 'pushEnabled', description: 'Push message to a device.' },
    CHAT_DM: { value: 'chatDmEnabled', description: 'Direct message in the chat.' },
  } as const,
});

const PublishNotificationPayload = builder.objectRef<Publication>('PublishNotificationPayload').implement({
  description: 'What became of a published notification.',
  fields: (t) => ({
    notification: t.expose('notification', { type: NotificationUnion, description: 'As it is stored.' }),
    created: t.exposeBoolean('created', { description: 'False where the same one had come before.' }),
    channels: t.field({
      type: [ChannelEnum],
      description: "The channels that the user's preferences leave on for its kind.",
      resolve: (publication) => channels.filter((channel) => publication.channels[channel]),
    }),
  }),
});

const PublishNotificationsInput = builder.inputType('PublishNotificationsInput', {
  description: 'Notifications for users.',
  fields: (t) => ({
    notifications: t.field({
      type: [PublishNotificationInput],
      required: true,
      description: 'Up to 100, of any users.',
      validate: maxItems(100),
    }),
  }),
});

const PublishNotificationsPayload = builder
  .objectRef<{ results: Publication[] }>('PublishNotificationsPayload')
  .implement({
    description: 'Published notifications.',
    fields: (t) => ({
      results: t.expose('results', {
        type: [PublishNotificationPayload],
        description: 'One result for each notification, in their order.',
      }),
    }),
  });

/** Each notification of a call costs a point; an empty call costs one too. */
function countPoints(args: object): number {
  return Math.max(1, Batch.parse(args).input.notifications.length);
}

const Batch = z.object({ input: z.object({ notifications: z.array(z.unknown()) }) });

builder.mutationFields((t) => ({
  publishNotification: t.field({
    access: platform('platform:write'),
    type: PublishNotificationPayload,
    nullable: true,
    description:
      'Puts a notification into an inbox. The same id with the same content is a retry; with other content it is a `CONFLICT`. An active one of the same task and kind is resolved by it, unless that occurred later: then the new one is stored as resolved.',
    args: {
      input: t.arg({ type: PublishNotificationInput, required: true, description: 'The notification.' }),
    },
    resolve: async (_root, { input }, context) => {
      const request = { userId: input.userId, draft: toDraft(input, ['input']), path: ['input'] };
      const [publication] = await publishNotifications(context, [request], context.now);
      return publication;
    },
  }),
  publishNotifications: t.field({
    access: { ...platform('platform:write'), points: countPoints },
    type: PublishNotificationsPayload,
    nullable: true,
    description:
      'Publishes notifications in order, as `publishNotification` does, all or none: one conflict fails all. Each counts as one point against the rate limit.',
    args: {
      input: t.arg({ type: PublishNotificationsInput, required: true, description: 'The notifications.' }),
    },
    resolve: async (_root, { input }, context) => {
      const requests = input.notifications.map((given, index) => {
        const path = ['input', 'notifications', index];
        return { userId: given.userId, draft: toDraft(given, path), path };
      });
      return { results: await publishNotifications(context, requests, context.now) };
    },
  }),
}));

type PublishInput = typeof PublishNotificationInput.$inferInput;

function toDraft({ task, ...input }: PublishInput, path: readonly (string | number)[]): NotificationDraft {
  return {
    ...toContent(input.payload, [...path, 'payload']),
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
