import { accountRead } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { userArgument } from '../graphql/user-argument.ts';
import { formatChangeCursor, getLatestCursor } from '../revisions/change-cursor.ts';
import { findRevision } from '../revisions/revisions.ts';
import type { NotificationKind } from './notification.enums.ts';
import { NotificationKindEnum } from './notification-enums.graphql.ts';
import { type ActiveCounts, countActive } from './read-changes.ts';

const KindCount = builder
  .objectRef<{ kind: NotificationKind; count: number }>('NotificationKindCount')
  .implement({
    description: 'Notifications of one kind.',
    fields: (t) => ({
      kind: t.expose('kind', { type: NotificationKindEnum, description: 'The kind.' }),
      count: t.exposeInt('count', { description: 'How many.' }),
    }),
  });

export const Counts = builder.objectRef<ActiveCounts>('NotificationCounts').implement({
  description: 'How many notifications wait for the user.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'In all.' }),
    byKind: t.expose('byKind', { type: [KindCount], description: 'By kind, every kind.' }),
  }),
});

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
    args: { userId: t.arg.id(userArgument) },
    resolve: async (_root, { userId }, { em, viewer }) => {
      const owner = userId ?? viewer.userId;
      const cursor = formatChangeCursor(getLatestCursor(await findRevision(em, owner)));
      return { ...(await countActive(em, owner)), cursor };
    },
  }),
);
