import { platformRead } from '../auth/access.ts';
import { type Backlog, readBacklog } from '../delivery/deliveries.ts';
import { DeliveryStateEnum } from '../delivery/delivery.graphql.ts';
import { CredentialStateEnum } from '../editor-auth/platform-credentials.graphql.ts';
import { builder } from '../graphql/builder.ts';
import { Platform } from '../graphql/platform.ts';
import {
  NotificationChannelEnum,
  NotificationKindEnum,
  NotificationStatusEnum,
} from '../notifications/notification-enums.graphql.ts';
import { WorkspaceStatusEnum } from '../workspaces/workspaces.graphql.ts';
import type { Counts } from './statistics.entity.ts';
import { type CredentialCount, listCredentialCounts, readTotals, type Totals } from './statistics.ts';

const NotificationCount = builder.objectRef<Counts['notifications'][number]>('NotificationCount').implement({
  description: 'The number of notifications of one kind and status.',
  fields: (t) => ({
    kind: t.expose('kind', { type: NotificationKindEnum, description: 'The kind of the notifications.' }),
    status: t.expose('status', {
      type: NotificationStatusEnum,
      description: 'The status of the notifications.',
    }),
    count: t.exposeInt('count', { description: 'The number of notifications.' }),
  }),
});

const WorkspaceCount = builder.objectRef<Counts['workspaces'][number]>('WorkspaceCount').implement({
  description: 'The number of workspaces with one status.',
  fields: (t) => ({
    status: t.expose('status', { type: WorkspaceStatusEnum, description: 'The status of the workspaces.' }),
    count: t.exposeInt('count', { description: 'The number of workspaces.' }),
  }),
});

const CredentialCountRef = builder.objectRef<CredentialCount>('EditorCredentialCount').implement({
  description: 'The number of stored token pairs in one state.',
  fields: (t) => ({
    state: t.expose('state', { type: CredentialStateEnum, description: 'The state of the token pairs.' }),
    count: t.exposeInt('count', { description: 'The number of token pairs.' }),
  }),
});

const DeliveryCount = builder.objectRef<Counts['deliveries'][number]>('DeliveryCount').implement({
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

const Statistics = builder.objectRef<Totals>('Statistics').implement({
  description: 'Counts of the records of all users, which the gateway updates in the background.',
  fields: (t) => ({
    asOf: t.expose('asOf', {
      type: 'DateTime',
      description:
        'The counts include all changes that were committed before this timestamp, usually at most five minutes ago.',
    }),
    notifications: t.field({
      type: [NotificationCount],
      description:
        'The number of notifications by kind and status. Combinations without notifications are omitted.',
      resolve: ({ counts }) => counts.notifications,
    }),
    workspaces: t.field({
      type: [WorkspaceCount],
      description: 'The number of workspaces by status. Statuses without workspaces are omitted.',
      resolve: ({ counts }) => counts.workspaces,
    }),
    editorCredentials: t.field({
      type: [CredentialCountRef],
      description: 'The number of stored token pairs in each state.',
      resolve: (totals, _args, { cipher }) => listCredentialCounts(totals, cipher),
    }),
    deliveries: t.field({
      type: [DeliveryCount],
      description:
        'The number of queued deliveries by channel and state. Combinations without deliveries are omitted.',
      resolve: ({ counts }) => counts.deliveries,
    }),
    deliveryBacklog: t.field({
      type: [DeliveryBacklog],
      description:
        'The current backlog of each channel, read only if it is selected. Channels without one are omitted.',
      resolve: (_totals, _args, { database }) => readBacklog(database.fork()),
    }),
  }),
});

builder.objectField(Platform, 'statistics', (t) =>
  t.field({
    access: platformRead,
    type: Statistics,
    nullable: true,
    description:
      'Returns counts of the records of all users. `null` until all records were counted once, shortly after the first start.',
    resolve: (_root, _args, { database }) => readTotals(database.fork()),
  }),
);
