import { accountRead } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { reads, readsBelow, selectedProperties } from '../graphql/reads.ts';
import { userArgument } from '../graphql/user-argument.ts';
import { openStream } from '../live/stream.ts';
import { parseChangeCursor } from '../revisions/change-cursor.ts';
import type { Notification } from './notification.entity.ts';
import { NotificationUnion } from './notification.graphql.ts';
import { Counts } from './notification-counts.graphql.ts';
import { type NotificationEvent, watchNotifications } from './notification-events.ts';

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
      "Changes of a user's notifications, in order, without gap or duplicate. It ends when the token expires.",
    args: {
      userId: t.arg.id(userArgument),
      after: t.arg.string({
        description:
          'The cursor of the last event that was seen: all changes since come first. From now unless told.',
      }),
    },
    subscribe: (_root, { userId, after }, context, info) => {
      const { em, viewer } = context;
      const cursor = after == null ? undefined : parseChangeCursor(after, ['after']);
      return openStream(
        context,
        watchNotifications(em, userId ?? viewer.userId, cursor, selectedProperties(info)),
      );
    },
    resolve: (event) => event,
  }),
);
