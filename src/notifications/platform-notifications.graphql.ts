import { platformRead } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import {
  defineConnectionType,
  describeCount,
  readConnectionAcrossUsers,
  shortPageNote,
} from '../graphql/connection.ts';
import { defineForwardArguments } from '../graphql/page-arguments.ts';
import { Platform, resolveSince, sinceArgument } from '../graphql/platform.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { findSelectedProperties } from '../graphql/selected-fields.ts';
import { isId } from '../values/text.ts';
import {
  countAllNotifications,
  isActiveByIndex,
  listAllNotifications,
  MAX_CHECKED,
} from './all-notifications.ts';
import { NotificationKindEnum, NotificationStatusEnum } from './notification-enums.graphql.ts';
import { NotificationUnion } from './notification-type.graphql.ts';

const PlatformNotificationConnection = defineConnectionType('PlatformNotification', {
  node: NotificationUnion,
  record: 'notification',
  acrossUsers: { totalCount: describeCount('notifications', MAX_CHECKED) },
});

const PlatformNotificationFilter = builder.inputType('PlatformNotificationFilter', {
  description: 'A filter of notifications of all users. Notifications must meet all conditions.',
  fields: (t) => ({
    kinds: t.field({
      type: [NotificationKindEnum],
      description: 'Filter by kind. Defaults to all kinds. An empty list selects none.',
      validate: maxItems(100),
    }),
    statuses: t.field({
      type: [NotificationStatusEnum],
      description: 'Filter by status. Defaults to all statuses. An empty list selects none.',
      validate: maxItems(100),
    }),
    projectIds: t.idList({
      description: 'Filter by project. Defaults to all projects. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    userIds: t.idList({
      description: 'Filter by user. Defaults to all users. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    since: t.field({
      ...sinceArgument,
      description: `${sinceArgument.description} If only active notifications of given projects or users are selected, defaults to any time.`,
    }),
  }),
});

builder.objectField(Platform, 'notifications', (t) =>
  t.field({
    access: platformRead,
    type: PlatformNotificationConnection,
    nullable: true,
    description: `Returns the notifications of all users, newest first. ${shortPageNote} Filtering only by \`kinds\` does not make pages shorter, and neither does filtering by the status \`ACTIVE\` and either \`projectIds\` or \`userIds\`.`,
    args: {
      ...defineForwardArguments(),
      filter: t.arg({
        type: PlatformNotificationFilter,
        description: 'Defaults to the notifications of the last 24 hours.',
      }),
    },
    resolve: (_platform, { filter: given, ...page }, context, info) => {
      const { database, now } = context;
      const isUnlimited = given?.since == null && isActiveByIndex(given ?? {});
      const filter = { ...given, since: isUnlimited ? undefined : resolveSince(given?.since, now) };
      const selected = findSelectedProperties(info);
      return readConnectionAcrossUsers(page, {
        readRecords: (page) => listAllNotifications(database, filter, page, selected),
        totalCount: () => countAllNotifications(database, filter),
        isId,
      });
    },
  }),
);
