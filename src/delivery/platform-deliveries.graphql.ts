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
import { NotificationChannelEnum } from '../notifications/notification-enums.graphql.ts';
import { countAllDeliveries, listAllDeliveries, MAX_CHECKED } from './all-deliveries.ts';
import { DeliveryRef, DeliveryStateEnum } from './delivery.graphql.ts';
import { isShownId, type ShownDelivery } from './shown-deliveries.ts';

const PlatformDeliveryConnection = defineConnectionType('PlatformDelivery', {
  node: DeliveryRef,
  record: 'delivery',
  acrossUsers: { totalCount: describeCount('notifications', MAX_CHECKED) },
});

const PlatformDeliveryFilter = builder.inputType('PlatformDeliveryFilter', {
  description: 'A filter of deliveries of all users. Deliveries must meet all conditions.',
  fields: (t) => ({
    states: t.field({
      type: [DeliveryStateEnum],
      description: 'Filter by state. Defaults to all states. An empty list selects none.',
      validate: maxItems(100),
    }),
    channels: t.field({
      type: [NotificationChannelEnum],
      description: 'Filter by channel. Defaults to all channels. An empty list selects none.',
      validate: maxItems(100),
    }),
    userIds: t.idList({
      description: 'Filter by user. Defaults to all users. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    since: t.field(sinceArgument),
  }),
});

builder.objectField(Platform, 'deliveries', (t) =>
  t.field({
    access: platformRead,
    type: PlatformDeliveryConnection,
    nullable: true,
    description: `Returns the deliveries of all users, newest notifications first, including those that were \`SKIPPED\`. ${shortPageNote}`,
    args: {
      ...defineForwardArguments(),
      filter: t.arg({
        type: PlatformDeliveryFilter,
        description: 'Defaults to the deliveries of the last 24 hours.',
      }),
    },
    resolve: (_platform, { filter: given, ...page }, { database, now }) => {
      const filter = { ...given, since: resolveSince(given?.since, now) };
      return readConnectionAcrossUsers<ShownDelivery>(page, {
        readRecords: (page) => listAllDeliveries(database, filter, page),
        totalCount: () => countAllDeliveries(database, filter),
        isId: isShownId,
      });
    },
  }),
);
