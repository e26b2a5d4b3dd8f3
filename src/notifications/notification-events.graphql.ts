import { accountRead, accountWrite } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { reads, readsBelow, selectedProperties } from '../graphql/reads.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { openStream } from '../live/stream.ts';
import { latestCursor, readCursor, writeCursor } from '../revisions/change-cursor.ts';
import { findRevision } from '../revisions/revisions.ts';
import { type ActiveCounts, countActive } from './changed-notifications.ts';
import { type DismissFilter, dismissNotifications } from './dismiss-notifications.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationKind } from './notification.enums.ts';
import { NotificationUnion } from './notification.graphql.ts';
import { NotificationKindEnum } from './notification-enums.graphql.ts';
import { type NotificationEvent, watchNotifications } from './notification-events.ts';

const KindCount = builder
  .objectRef<{ kind: NotificationKind; count: number }>('NotificationKindCount')
  .implement({
    description: 'Notifications of one kind.',
    fields: (t) => ({
      kind: t.expose('kind', { type: NotificationKindEnum, description: 'The kind.' }),
      count: t.exposeInt('count', { description: 'How many.' }),
    }),
  });

const Counts = builder.objectRef<ActiveCounts>('NotificationCounts').implement({
  description: 'How many notifications wait for the user.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'In all.' }),
    byKind: t.expose('byKind', { type: [KindCount], description: 'By kind, every kind.' }),
  }),
});

const EventTypeEnum = builder.enumType('NotificationEventType', {
  description: 'What happened to a notification last.',
  values: {
    CREATED: { value: 'active', description: 'It came.' },
    RESOLVED: { value: 'resolved', description: 'The platform no longer waits for it.' },
    DISMISSED: { value: 'dismissed', description: 'The user has put it away.' },
  } as const,
});

const Event = builder.objectRef<NotificationEvent>('NotificationEvent').implement({
  description: 'A change of a notification.',
  fields: (t) => ({
    type: t.field({
      type: EventTypeEnum,
      description: 'What happened last; steps before it are left out.',
      extensions: reads<Notification>('status'),
      resolve: ({ notification }) => notification.status,
    }),
    notification: t.expose('notification', {
      type: NotificationUnion,
      description: 'The current state.',
      extensions: readsBelow,
    }),
    counts: t.field({
      type: Counts,
      description: 'How many wait for the user now.',
      extensions: reads<NotificationEvent>('counts'),
      resolve: ({ counts }) => {
        if (counts === undefined) throw new Error('The counts were not read.');
        return counts;
      },
    }),
    cursor: t.exposeString('cursor', { description: 'For `after`, to go on behind this event.' }),
  }),
});

builder.subscriptionField('notificationEvents', (t) =>
  t.field({
    access: accountRead,
    type: Event,
    description:
      'Changes of the caller’s notifications, in order, without gap or duplicate. It ends when the token expires.',
    args: {
      after: t.arg.string({
        description:
          'The cursor of the last event that was seen: all changes since come first. From now unless told.',
      }),
    },
    subscribe: (_root, { after }, context, info) => {
      const cursor = after == null ? undefined : readCursor(after, ['after']);
      return openStream(
        context,
        watchNotifications(context.em, context.viewer.userId, cursor, selectedProperties(info)),
      );
    },
    resolve: (event) => event,
  }),
);

const CountsNow = builder.objectRef<ActiveCounts & { cursor: string }>('NotificationCountsNow').implement({
  description: 'How many notifications wait for the user, and where changes go on from there.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'In all.' }),
    byKind: t.expose('byKind', { type: [KindCount], description: 'By kind, every kind.' }),
    cursor: t.exposeString('cursor', {
      description:
        'For `notificationEvents(after:)`. Where it is asked for in a request before the list’s, no change between the two is lost; fields of one request are read at the same time.',
    }),
  }),
});

builder.queryField('notificationCounts', (t) =>
  t.field({
    access: accountRead,
    type: CountsNow,
    nullable: true,
    description: "How many of a user's notifications are active.",
    args: { userId: t.arg.id({ description: 'Another user; needs the scope `platform:read`.' }) },
    resolve: async (_root, { userId }, { em, viewer }) => {
      const owner = userId ?? viewer.userId;
      const cursor = writeCursor(latestCursor(await findRevision(em, owner)));
      return { ...(await countActive(em, owner)), cursor };
    },
  }),
);

const DismissFilterInput = builder.inputType('DismissNotificationsFilter', {
  description: 'Active notifications that the user can have seen.',
  fields: (t) => ({
    kinds: t.field({
      type: [NotificationKindEnum],
      description: 'Only these kinds; all unless told.',
      validate: maxItems(100),
    }),
    projectId: t.id({ description: 'Only of this project.' }),
    upTo: t.string({
      required: true,
      description: 'The newest cursor that the user has seen; what changed after it is not dismissed.',
    }),
  }),
});

const DismissNotificationsInput = builder.inputType('DismissNotificationsInput', {
  description: 'Which notifications to dismiss.',
  isOneOf: true,
  fields: (t) => ({
    ids: t.idList({
      description: 'Up to 100 ids; unknown ones and those of others are passed over.',
      validate: { ...maxItems(100), items: idRule },
    }),
    filter: t.field({ type: DismissFilterInput, description: 'Those that the user can have seen.' }),
  }),
});

const DismissNotificationsPayload = builder
  .objectRef<{ notifications: Notification[] }>('DismissNotificationsPayload')
  .implement({
    description: 'The notifications that were dismissed now; those that already were are left out.',
    fields: (t) => ({
      notifications: t.expose('notifications', {
        type: [NotificationUnion],
        description: 'As they are now.',
      }),
    }),
  });

builder.mutationField('dismissNotifications', (t) =>
  t.field({
    access: accountWrite,
    type: DismissNotificationsPayload,
    nullable: true,
    description: 'Puts many notifications away at once.',
    args: { input: t.arg({ type: DismissNotificationsInput, required: true, description: 'Which ones.' }) },
    resolve: async (_root, { input: { ids, filter } }, context) => {
      const { viewer, now } = context;
      const chosen = filter ? seenBy(filter) : { ids: ids ?? [] };
      return { notifications: await dismissNotifications(context, viewer.userId, chosen, now) };
    },
  }),
);

function seenBy({
  kinds = null,
  projectId = null,
  upTo,
}: typeof DismissFilterInput.$inferInput): DismissFilter {
  return { kinds, projectId, upTo: readCursor(upTo, ['input', 'filter', 'upTo']) };
}
