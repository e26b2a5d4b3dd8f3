import { accountRead } from '../auth/access.ts';
import { admitLargeRead } from '../graphql/admit-large-reply.ts';
import { builder, createRecordRef, userArgument } from '../graphql/builder.ts';
import { findByteShare } from '../graphql/byte-share.ts';
import { cursorField, defineConnectionType, readConnection, shortPageNote } from '../graphql/connection.ts';
import { definePageArguments } from '../graphql/page-arguments.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { findSelectedProperties, resolveRecord } from '../graphql/selected-fields.ts';
import { readEntityTag } from '../revisions/revisions.ts';
import { isId } from '../values/text.ts';
import type { Notification } from './notification.entity.ts';
import { NotificationKindEnum, NotificationStatusEnum } from './notification-enums.graphql.ts';
import { NotificationUnion } from './notification-type.graphql.ts';
import {
  countNotifications,
  findForReply,
  listNotifications,
  readNotificationTexts,
  type SelectedNotification,
} from './notifications.ts';

const NotificationEdge = createRecordRef<Notification, SelectedNotification>('NotificationEdge').implement({
  description: 'A notification in a list, with its cursor.',
  fields: (t) => ({
    node: t.field({
      type: NotificationUnion,
      description: 'The notification.',
      ...resolveRecord,
    }),
    cursor: t.string(cursorField),
  }),
});

const NotificationConnection = defineConnectionType('Notification', {
  node: NotificationUnion,
  edge: NotificationEdge,
});

const NotificationFilterInput = builder.inputType('NotificationFilter', {
  description: 'A filter of notifications. Notifications must meet all conditions.',
  fields: (t) => ({
    statuses: t.field({
      type: [NotificationStatusEnum],
      description: 'Filter by status. Defaults to all statuses. An empty list selects none.',
      validate: maxItems(100),
    }),
    kinds: t.field({
      type: [NotificationKindEnum],
      description: 'Filter by kind. Defaults to all kinds. An empty list selects none.',
      validate: maxItems(100),
    }),
    projectIds: t.idList({
      description: 'Filter by project. Defaults to all projects. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    taskIds: t.idList({
      description: 'Filter by task. Defaults to all tasks. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    createdFrom: t.field({
      type: 'DateTime',
      description: 'Selects only notifications created at this timestamp or later.',
    }),
    createdBefore: t.field({
      type: 'DateTime',
      description: 'Selects only notifications created before this timestamp.',
    }),
  }),
});

export const notificationsField = 'notifications';

builder.queryField(notificationsField, (t) =>
  t.field({
    access: accountRead,
    type: NotificationConnection,
    nullable: true,
    description: `Returns a user's notifications, newest first. ${shortPageNote} Filtering by \`taskIds\` or only by the status \`ACTIVE\` does not make pages shorter.`,
    args: {
      ...definePageArguments(),
      userId: t.arg.id(userArgument),
      filter: t.arg({ type: NotificationFilterInput, description: 'Defaults to all notifications.' }),
    },
    resolve: (root, { userId, filter: given, ...page }, context, info) => {
      const filter = given ?? {};
      const { database, viewer } = context;
      const owner = userId ?? viewer.userId;
      const selected = findSelectedProperties(info);
      return readConnection(page, root, {
        readRecords: (page) => listNotifications(database, owner, filter, page, selected),
        readTexts: (ids) => readNotificationTexts(database, { userId: owner, ids }, selected),
        share: findByteShare(info),
        admitLargeRead: (bytes) => admitLargeRead(context, bytes),
        totalCount: () => countNotifications(database, owner, filter),
        readTag: () => readEntityTag(database, owner, 'notifications'),
        isId,
      });
    },
  }),
);

builder.queryField('notification', (t) =>
  t.field({
    access: accountRead,
    type: NotificationUnion,
    nullable: true,
    description:
      'Returns a notification. Fails with `NOT_FOUND` if the user has no notification with this ID.',
    args: {
      id: t.arg.id({ required: true, description: "The notification's ID." }),
      userId: t.arg.id(userArgument),
    },
    resolve: (_root, { id, userId }, context) =>
      findForReply(context.database, userId ?? context.viewer.userId, id, (bytes) =>
        admitLargeRead(context, bytes),
      ),
  }),
);
