import { type Backlog, readBacklog } from '../delivery/deliveries.ts';
import { DeliveryStateEnum } from '../delivery/delivery.graphql.ts';
import { builder } from '../graphql/builder.ts';
import { NotificationChannelEnum } from '../notifications/notification-enums.graphql.ts';
import { Statistics } from './statistics.graphql.ts';
import { type DeliveryCount, listDeliveryCounts } from './statistics.ts';

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

builder.objectFields(Statistics, (t) => ({
  deliveries: t.field({
    type: [DeliveryCountRef],
    description:
      'The number of queued deliveries by channel and state. Combinations without deliveries are omitted.',
    resolve: listDeliveryCounts,
  }),
  deliveryBacklog: t.field({
    type: [DeliveryBacklog],
    description:
      'The current backlog of each channel, read only if it is selected. Channels without one are omitted.',
    resolve: (_totals, _args, { database }) => readBacklog(database.fork()),
  }),
}));
