import { accountStream } from '../auth/access.ts';
import { builder, userArgument } from '../graphql/builder.ts';
import { findSelectedProperties, readBySubfields, reads } from '../graphql/selected-fields.ts';
import { createSourceReader } from '../live/source.ts';
import { openStream } from '../live/stream.ts';
import { parseEventCursor } from '../revisions/event-cursor.ts';
import type { Notification } from './notification.entity.ts';
import { Counts } from './notification-counts.graphql.ts';
import { createNotificationSource, type NotificationEvent } from './notification-events.ts';
import { NotificationUnion } from './notification-type.graphql.ts';

const EventTypeEnum = builder.enumType('NotificationEventType', {
  description: 'The type of a change of a notification.',
  values: {
    CREATED: { value: 'active', description: 'The notification was published, or its dismissal undone.' },
    RESOLVED: {
      value: 'resolved',
      description:
        'The notification was resolved: the user answered, its request expired, the platform resolved it, or a later one superseded it. Also a later change of its request.',
    },
    DISMISSED: {
      value: 'dismissed',
      description:
        'The user dismissed the notification, or the request of a dismissed one was settled or its answer acknowledged.',
    },
  } as const,
});

export const NotificationEventType = builder.objectRef<NotificationEvent>('NotificationEvent').implement({
  description: 'A change of a notification.',
  fields: (t) => ({
    type: t.field({
      type: EventTypeEnum,
      description: 'The type of the latest change. Earlier changes that were not delivered yet are skipped.',
      extensions: reads<Notification>('status'),
      resolve: ({ notification }) => notification.status,
    }),
    notification: t.expose('notification', {
      type: NotificationUnion,
      description: 'The notification in its current state.',
      extensions: readBySubfields,
    }),
    counts: t.field({
      type: Counts,
      description: "The current counts of the user's active notifications.",
      extensions: reads<NotificationEvent>('counts'),
      resolve: ({ counts, cursor }) => {
        if (counts === undefined) throw new Error('The counts were not read.');
        return { ...counts, cursor };
      },
    }),
    cursor: t.exposeString('cursor', {
      description: 'Event cursor. Pass it in `after` to resume after this event.',
    }),
  }),
});

builder.subscriptionField('notificationEvents', (t) =>
  t.field({
    access: accountStream,
    type: NotificationEventType,
    description:
      'Delivers the latest state of every changed notification of a user, in order. Intermediate states may be skipped. The stream ends when the token expires.',
    args: {
      userId: t.arg.id(userArgument),
      after: t.arg.string({
        description:
          'Event cursor of the last event received. Changes since then are delivered first. If omitted, only new changes are delivered.',
      }),
    },
    subscribe: (_root, { userId, after }, context, info) => {
      const { database, viewer } = context;
      const cursor = after == null ? undefined : parseEventCursor(after, ['after']);
      const selected = findSelectedProperties(info);
      const user = userId ?? viewer.userId;
      const source = createNotificationSource(database, user, cursor, selected);
      return openStream(context, createSourceReader(database, user, source));
    },
    resolve: (event) => event,
  }),
);
