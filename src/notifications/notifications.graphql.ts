import type { GraphQLResolveInfo } from 'graphql';
import { accountRead } from '../auth/access.ts';
import type { Context } from '../context.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { builder } from '../graphql/builder.ts';
import { defineConnectionType, shortPageNote } from '../graphql/connection.ts';
import { countListPoints, definePageArguments, defineRestArguments } from '../graphql/page-arguments.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { findSelectedProperties } from '../graphql/selected-fields.ts';
import { type ListField, nestedPageNote, readUserList, viewerNode } from '../graphql/user-list.ts';
import { type UserNode, UserRef } from '../users/user.graphql.ts';
import { isId } from '../values/text.ts';
import { filterFields } from './notification-filter.graphql.ts';
import type { NotificationFilter } from './notification-filter.ts';
import { NotificationUnion } from './notification-type.graphql.ts';
import {
  findNotification,
  findNotificationTogether,
  notificationList,
  type SelectedNotification,
} from './notifications.ts';

const NotificationConnection = defineConnectionType('Notification', {
  node: NotificationUnion,
  record: 'notification',
});

const NotificationFilterInput = builder.inputType('NotificationFilter', {
  description: 'A filter of notifications. Notifications must meet all conditions.',
  fields: (t) => ({
    ...filterFields(t),
    taskIds: t.idList({
      description: 'Filter by task. Defaults to all tasks. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    createdFrom: t.field({
      type: 'DateTime',
      description: 'Selects only notifications created at this timestamp or later.',
    }),
  }),
});

/** The arguments of lists of notifications. */
const listArguments = {
  ...definePageArguments(),
  ...builder.args((t) => ({
    filter: t.field({ type: NotificationFilterInput, description: 'Defaults to all notifications.' }),
  })),
};

const exactPagesNote =
  'Filtering by `taskIds`, by the request state `OPEN` or only by the status `ACTIVE` does not make pages shorter.';

const list: ListField<NotificationFilter, SelectedNotification> = {
  name: 'notifications',
  list: notificationList,
  isId,
};

export const notificationsField = 'notifications';

builder.queryField(notificationsField, (t) =>
  t.field({
    access: { ...accountRead, points: countListPoints },
    type: NotificationConnection,
    nullable: true,
    description: `Returns the caller's notifications, newest first. ${shortPageNote} ${exactPagesNote}`,
    args: { ...listArguments, ...defineRestArguments() },
    resolve: (_root, { filter, ...page }, context, info) =>
      readUserList(list, viewerNode(context), { filter: filter ?? {}, page }, context, info),
  }),
);

export const notificationField = 'notification';

builder.queryField(notificationField, (t) =>
  t.field({
    access: accountRead,
    type: NotificationUnion,
    nullable: true,
    description:
      'Returns a notification. Fails with `NOT_FOUND` if the caller has no notification with this ID.',
    args: { id: t.arg.id({ required: true, description: "The notification's ID." }) },
    resolve: (_root, { id }, { database, viewer }) => findNotification(database, viewer.userId, id),
  }),
);

builder.objectFields(UserRef, (t) => ({
  notifications: t.field({
    access: accountRead,
    type: NotificationConnection,
    nullable: true,
    description: `The user's notifications, newest first. ${nestedPageNote} ${shortPageNote} ${exactPagesNote}`,
    args: listArguments,
    resolve: (user, { filter, ...page }, context, info) =>
      readUserList(list, user, { filter: filter ?? {}, page }, context, info),
  }),
  notification: t.field({
    access: accountRead,
    type: NotificationUnion,
    nullable: true,
    description:
      'A notification of the user. Fails with `NOT_FOUND` if the user has no notification with this ID.',
    args: { id: t.arg.id({ required: true, description: "The notification's ID." }) },
    resolve: (user, { id }, context, info) =>
      user.isListed
        ? findNestedNotification(user, id, context, info)
        : findNotification(context.database, user.userId, id),
  }),
}));

/** Finds a notification of each of several users by one statement. */
async function findNestedNotification(
  { userId }: UserNode,
  id: string,
  { database }: Context,
  info: GraphQLResolveInfo,
): Promise<SelectedNotification> {
  const { notification } = await findNotificationTogether(
    database,
    { userId, id },
    findSelectedProperties(info),
  );
  if (notification === undefined) throw new NotFoundError();
  return notification;
}
