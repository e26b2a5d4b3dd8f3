import { accountRead } from '../auth/access.ts';
import { builder, userArgument } from '../graphql/builder.ts';
import { formatEventCursor, getLatestCursor } from '../revisions/event-cursor.ts';
import { findRevisions } from '../revisions/revisions.ts';
import { type ActiveCounts, countActive } from './active-counts.ts';
import type { NotificationKind } from './notification.enums.ts';
import { NotificationKindEnum } from './notification-enums.graphql.ts';

const KindCount = builder
  .objectRef<{ kind: NotificationKind; count: number }>('NotificationKindCount')
  .implement({
    description: 'The number of active notifications of one kind.',
    fields: (t) => ({
      kind: t.expose('kind', { type: NotificationKindEnum, description: 'The kind of the notifications.' }),
      count: t.exposeInt('count', { description: 'The number of active notifications.' }),
    }),
  });

const total = { description: 'The number of active notifications of all kinds.' };
const byKind: { type: [typeof KindCount]; description: string } = {
  type: [KindCount],
  description: 'Counts by kind. Every kind is included, even if its count is 0.',
};

export const Counts = builder.objectRef<ActiveCounts>('NotificationCounts').implement({
  description: "Counts of a user's active notifications.",
  fields: (t) => ({
    total: t.exposeInt('total', total),
    byKind: t.expose('byKind', byKind),
  }),
});

const CountsNow = builder.objectRef<ActiveCounts & { cursor: string }>('NotificationCountsNow').implement({
  description: "Counts of a user's active notifications, with an event cursor for receiving later changes.",
  fields: (t) => ({
    total: t.exposeInt('total', total),
    byKind: t.expose('byKind', byKind),
    cursor: t.exposeString('cursor', {
      description:
        'Event cursor for the argument `after` of `notificationEvents`. To lose no change, query it in a separate request before the list: the fields of one request are read concurrently.',
    }),
  }),
});

builder.queryField('notificationCounts', (t) =>
  t.field({
    access: accountRead,
    type: CountsNow,
    nullable: true,
    description: "Returns counts of a user's active notifications.",
    args: { userId: t.arg.id(userArgument) },
    resolve: async (_root, { userId }, { database, viewer }) => {
      const owner = userId ?? viewer.userId;
      const cursor = formatEventCursor(getLatestCursor(await findRevisions(database, owner)));
      return { ...(await countActive(database, owner)), cursor };
    },
  }),
);
