import { accountRead } from '../auth/access.ts';
import type { Database } from '../database/database.ts';
import { builder } from '../graphql/builder.ts';
import { defineSingletonRef } from '../graphql/record-ref.ts';
import { reads } from '../graphql/selected-fields.ts';
import { formatEventCursor, getLatestCursor } from '../revisions/event-cursor.ts';
import { findRevisions } from '../revisions/revisions.ts';
import { UserRef } from '../users/user.graphql.ts';
import { type ActiveCounts, countActive, countOpenRequests } from './active-counts.ts';
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

/** Counts with the event cursor of a revision that was read before them. */
export type CountsWithCursor = ActiveCounts & { cursor: string };

export const Counts = builder.objectRef<CountsWithCursor>('NotificationCounts').implement({
  description: "Counts of a user's active notifications, with an event cursor for receiving later changes.",
  fields: (t) => ({
    userId: t.exposeID('userId', { description: "The user's ID." }),
    ref: t.field(defineSingletonRef<CountsWithCursor>('NotificationCounts')),
    total: t.exposeInt('total', { description: 'The number of active notifications of all kinds.' }),
    byKind: t.expose('byKind', {
      type: [KindCount],
      description: 'Counts by kind. Every kind is included, even if its count is 0.',
    }),
    openRequests: t.int({
      access: accountRead,
      description: 'The number of open requests, including those of dismissed notifications.',
      extensions: reads<CountsWithCursor>('userId'),
      resolve: async ({ userId }, _args, { database }) => (await countOpenRequests(database, userId)).count,
    }),
    cursor: t.exposeString('cursor', {
      description:
        'Event cursor for the argument `after` of `notificationEvents`. To lose no change, query it in a separate request before the list: the fields of one request are read concurrently.',
    }),
  }),
});

export const notificationCountsField = 'notificationCounts';

builder.queryField(notificationCountsField, (t) =>
  t.field({
    access: accountRead,
    type: Counts,
    nullable: true,
    description: "Returns counts of the caller's active notifications.",
    resolve: (_root, _args, { database, viewer }) => readCounts(database, viewer.userId),
  }),
);

builder.objectField(UserRef, 'notificationCounts', (t) =>
  t.field({
    access: accountRead,
    type: Counts,
    nullable: true,
    description: "Counts of the user's active notifications.",
    resolve: ({ userId }, _args, { database }) => readCounts(database, userId),
  }),
);

/** Reads the counts of a user's active notifications, and before them their cursor. */
async function readCounts(database: Database, userId: string): Promise<CountsWithCursor> {
  const cursor = formatEventCursor(getLatestCursor(await findRevisions(database, userId)));
  return { ...(await countActive(database, userId)), cursor };
}
