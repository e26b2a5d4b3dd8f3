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
  coversAnyTime,
  listAllNotifications,
  MAX_CHECKED,
} from './all-notifications.ts';
import { filterFields } from './notification-filter.graphql.ts';
import { NotificationUnion } from './notification-type.graphql.ts';

const PlatformNotificationConnection = defineConnectionType('PlatformNotification', {
  node: NotificationUnion,
  record: 'notification',
  acrossUsers: { totalCount: describeCount('notifications', MAX_CHECKED) },
});

const PlatformNotificationFilter = builder.inputType('PlatformNotificationFilter', {
  description: 'A filter of notifications of all users. Notifications must meet all conditions.',
  fields: (t) => ({
    ...filterFields(t),
    userIds: t.idList({
      description: 'Filter by user. Defaults to all users. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    since: t.field({
      ...sinceArgument,
      description: `${sinceArgument.description} If only open requests, or only active notifications of given projects or users are selected, defaults to any time.`,
    }),
  }),
});

builder.objectField(Platform, 'notifications', (t) =>
  t.field({
    access: platformRead,
    type: PlatformNotificationConnection,
    nullable: true,
    description: `Returns the notifications of all users, newest first. ${shortPageNote} Pages are full if the filter has only times, or besides them only the request state \`OPEN\`, or only \`userIds\`, also with the status \`ACTIVE\`.`,
    args: {
      ...defineForwardArguments(),
      filter: t.arg({
        type: PlatformNotificationFilter,
        description: 'Defaults to the notifications of the last 24 hours.',
      }),
    },
    resolve: (_platform, { filter: given, ...page }, context, info) => {
      const { database, now } = context;
      const isUnlimited = given?.since == null && coversAnyTime(given ?? {});
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
