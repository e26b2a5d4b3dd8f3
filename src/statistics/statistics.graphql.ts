import { platformRead } from '../auth/access.ts';
import { CredentialStateEnum } from '../editor-auth/platform-credentials.graphql.ts';
import { builder } from '../graphql/builder.ts';
import { Platform } from '../graphql/platform.ts';
import type { NotificationKind, NotificationStatus } from '../notifications/notification.enums.ts';
import { NotificationKindEnum, NotificationStatusEnum } from '../notifications/notification-enums.graphql.ts';
import type { WorkspaceStatus } from '../workspaces/workspace.enums.ts';
import { WorkspaceStatusEnum } from '../workspaces/workspaces.graphql.ts';
import {
  type CredentialCount,
  listCredentialCounts,
  listNotificationCounts,
  listWorkspaceCounts,
  readTotals,
  type Totals,
} from './statistics.ts';

const NotificationCount = builder
  .objectRef<{ kind: NotificationKind; status: NotificationStatus; count: number }>('NotificationCount')
  .implement({
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

const WorkspaceCount = builder
  .objectRef<{ status: WorkspaceStatus; count: number }>('WorkspaceCount')
  .implement({
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

/** Exported for the delivery statistics. */
export const Statistics = builder.objectRef<Totals>('Statistics').implement({
  description: 'Counts of the records of all users, which the gateway updates in the background.',
  fields: (t) => ({
    asOf: t.expose('asOf', {
      type: 'DateTime',
      description:
        'The counts include all changes that were committed before this timestamp, and possibly later ones.',
    }),
    notifications: t.field({
      type: [NotificationCount],
      description:
        'The number of notifications by kind and status. Combinations without notifications are omitted.',
      resolve: listNotificationCounts,
    }),
    workspaces: t.field({
      type: [WorkspaceCount],
      description: 'The number of workspaces by status. Statuses without workspaces are omitted.',
      resolve: listWorkspaceCounts,
    }),
    editorCredentials: t.field({
      type: [CredentialCountRef],
      description: 'The number of stored token pairs in each state.',
      resolve: (totals, _args, { database, cipher }) => listCredentialCounts(database.fork(), totals, cipher),
    }),
  }),
});

builder.objectField(Platform, 'statistics', (t) =>
  t.field({
    access: platformRead,
    type: Statistics,
    nullable: true,
    description:
      'Returns counts of the records of all users. `null` until all users were counted once, after the first start of this version.',
    resolve: (_root, _args, { database }) => readTotals(database.fork()),
  }),
);
