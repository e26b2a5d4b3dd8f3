import type { InputShapeFromFields } from '@pothos/core';
import { platformRead } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { maxItems, wholeNumberRule } from '../graphql/rules.ts';
import { openStream } from '../live/stream.ts';
import { NotificationChannelEnum } from '../notifications/notification-enums.graphql.ts';
import { platformEventTypes } from '../platform-events/platform-event.enums.ts';
import { formatEventCursor, parseEventCursor } from '../revisions/event-cursor.ts';
import { FeedReader } from './feed-reader.ts';
import { type FeedEvent, type FeedPage, findLatestCursor, MAX_EVENTS, readFeed } from './read-feed.ts';

const EventTypeEnum = builder.enumType('PlatformEventType', {
  description: 'What a platform event reports.',
  values: {
    NOTIFICATION_ANSWERED: { value: 'notification.answered', description: 'A request was answered.' },
    NOTIFICATION_EXPIRED: {
      value: 'notification.expired',
      description: 'A request expired without an answer.',
    },
    NOTIFICATION_WITHDRAWN: {
      value: 'notification.withdrawn',
      description: 'A request was superseded or resolved without an answer.',
    },
    NOTIFICATION_DISMISSED: {
      value: 'notification.dismissed',
      description: 'The user dismissed a notification.',
    },
    NOTIFICATION_RESTORED: {
      value: 'notification.restored',
      description: 'The user undid the dismissal of a notification.',
    },
    EDITOR_CREDENTIAL_STORED: {
      value: 'editor_credential.stored',
      description: 'The user stored an editor credential.',
    },
    EDITOR_CREDENTIAL_REFRESHED: {
      value: 'editor_credential.refreshed',
      description: 'The platform stored a refreshed editor credential.',
    },
    EDITOR_CREDENTIAL_DELETED: {
      value: 'editor_credential.deleted',
      description: 'The user deleted the editor credential.',
    },
    EDITOR_CREDENTIAL_NEEDS_REAUTH: {
      value: 'editor_credential.needs_reauth',
      description: 'The platform reported that the editor credential failed. The user must connect again.',
    },
    CONTACT_SUSPENDED: {
      value: 'contact.suspended',
      description: 'Delivery over a channel was suspended because the provider rejected the address.',
    },
    USER_DELETED: {
      value: 'user.deleted',
      description: "All data of the user was deleted, the user's earlier events included.",
    },
  } as const,
});

const PlatformEventType = builder.objectRef<FeedEvent>('PlatformEvent').implement({
  description:
    'An event of the platform feed. It has the IDs of what changed, but no text and no credential.',
  fields: (t) => ({
    type: t.expose('type', { type: EventTypeEnum, description: 'What the event reports.' }),
    userId: t.exposeID('userId', { description: "The user's ID." }),
    notificationId: t.exposeID('notificationId', {
      nullable: true,
      description: "The notification's ID. `null` unless the event reports a change of a notification.",
    }),
    taskId: t.exposeID('taskId', {
      nullable: true,
      description:
        "The ID of the notification's task. `null` unless the event reports a change of a notification.",
    }),
    credentialVersion: t.exposeID('credentialVersion', {
      nullable: true,
      description:
        'The version of the editor credential that was stored, deleted or failed. `null` for other events.',
    }),
    channel: t.expose('channel', {
      type: NotificationChannelEnum,
      nullable: true,
      description: 'The suspended channel. `null` unless the type is `CONTACT_SUSPENDED`.',
    }),
    at: t.expose('at', { type: 'DateTime', description: 'Timestamp of the change.' }),
    cursor: t.exposeString('cursor', { description: 'Cursor of the event, for `after`.' }),
  }),
});

const PlatformEventPage = builder.objectRef<FeedPage>('PlatformEventPage').implement({
  description: 'A page of the platform feed.',
  fields: (t) => ({
    events: t.expose('events', {
      type: [PlatformEventType],
      description:
        'The events, in the order of the feed. The page may be empty although there are more events.',
    }),
    cursor: t.string({
      description: 'Cursor that continues after this page, for `after`, also if the page is empty.',
      resolve: ({ end }) => formatEventCursor(end),
    }),
    hasMore: t.exposeBoolean('hasMore', { description: 'Whether there are events after this page.' }),
  }),
});

const feedArguments = builder.args((t) => ({
  after: t.string({
    description:
      'Cursor of the last event or page that was received. Defaults to the beginning: the oldest event that is stored.',
  }),
  types: t.field({
    type: [EventTypeEnum],
    description: 'Filter by type. Defaults to all types.',
    validate: maxItems(platformEventTypes.length),
  }),
}));

const DEFAULT_EVENTS = 100;

builder.queryFields((t) => ({
  platformEvents: t.field({
    access: platformRead,
    type: PlatformEventPage,
    nullable: true,
    description:
      'Returns a part of the platform feed: the events of all users, in the order in which they were committed to the feed. Every event has the same place for all readers and is returned once to a reader who follows the cursors. Events are kept for seven days. Fails with `CONFLICT` and the reason `CURSOR_EXPIRED` if events after the cursor were deleted, or the database was restored.',
    args: {
      ...feedArguments,
      first: t.arg.int({
        description: `The maximum number of events, 1 to ${MAX_EVENTS}. Defaults to ${DEFAULT_EVENTS}.`,
        validate: wholeNumberRule(1, MAX_EVENTS),
      }),
    },
    resolve: (_root, { first, ...args }, { database }) =>
      readFeed(database, { ...readSelection(args), first: first ?? DEFAULT_EVENTS }),
  }),
  latestPlatformCursor: t.field({
    access: platformRead,
    type: 'String',
    nullable: true,
    description: 'Returns the cursor of the last event of the platform feed.',
    resolve: async (_root, _args, { database }) => formatEventCursor(await findLatestCursor(database)),
  }),
}));

builder.subscriptionField('platformEvents', (t) =>
  t.field({
    access: platformRead,
    type: PlatformEventType,
    description:
      'Delivers the events of the platform feed, in order: first those after the cursor, then each new one. The stream ends when the token expires, and with the reason `CURSOR_EXPIRED` if events were deleted before they were delivered.',
    args: feedArguments,
    subscribe: (_root, args, context) =>
      openStream(context, new FeedReader(context.database, readSelection(args))),
    resolve: (event) => event,
  }),
);

type FeedArguments = InputShapeFromFields<typeof feedArguments>;

function readSelection({ after, types }: FeedArguments) {
  return {
    after: after == null ? undefined : parseEventCursor(after, ['after']),
    types: types ?? undefined,
  };
}
