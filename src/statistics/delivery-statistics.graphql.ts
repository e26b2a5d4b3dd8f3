import { platform } from '../auth/access.ts';
import { type Backlog, readBacklog } from '../delivery/deliveries.ts';
import { DeliveryStateEnum } from '../delivery/delivery.graphql.ts';
import { builder } from '../graphql/builder.ts';
import { NotificationChannelEnum } from '../notifications/notification-enums.graphql.ts';
import { type DeliveryCount, listDeliveryCounts, readTotals, type Totals } from './statistics.ts';

const DeliveryCountRef = builder.objectRef<DeliveryCount>('DeliveryCount').implement({
  description: 'The number of deliveries over one channel in one state.',
  fields: (t) => ({
    channel: t.expose('channel', { type: NotificationChannelEnum, description: 'The channel.' }),
    state: t.expose('state', { type: DeliveryStateEnum, description: 'The state of the deliveries.' }),
    count: t.exposeInt('count', { description: 'The number of deliveries.' }),
  }),
});

const DeliveryBacklog = builder.objectRef<Backlog>('DeliveryBacklog').implement({
  description:
    'The deliveries over one channel whose first attempt was due and that are not finished, including those that wait for a retry. A growing or old backlog means that senders or a provider are stopped, paused or too slow.',
  fields: (t) => ({
    channel: t.expose('channel', { type: NotificationChannelEnum, description: 'The channel.' }),
    count: t.exposeInt('count', { description: 'The number of deliveries.' }),
    dueSince: t.expose('dueSince', {
      type: 'DateTime',
      description: 'Timestamp at which the first attempt of the oldest delivery was due.',
    }),
  }),
});

const DeliveryStatistics = builder.objectRef<Totals>('DeliveryStatistics').implement({
  description: 'Counts of the deliveries of all users, which the gateway updates in the background.',
  fields: (t) => ({
    asOf: t.expose('asOf', {
      type: 'DateTime',
      description:
        '`counts` include all changes that were committed before this timestamp, and possibly later ones.',
    }),
    counts: t.field({
      type: [DeliveryCountRef],
      description:
        'The number of deliveries by channel and state. Combinations without deliveries are omitted.',
      resolve: listDeliveryCounts,
    }),
    backlog: t.field({
      type: [DeliveryBacklog],
      description:
        'The current backlog of each channel, read only if it is selected. Channels without one are omitted.',
      resolve: (_totals, _args, { database }) => readBacklog(database.fork()),
    }),
  }),
});

builder.queryField('deliveryStatistics', (t) =>
  t.field({
    access: platform('platform:read'),
    type: DeliveryStatistics,
    nullable: true,
    description:
      'Returns counts of the deliveries of all users. `null` until all users were counted once, after the first start of this version.',
    resolve: (_root, _args, { database }) => readTotals(database.fork()),
  }),
);
