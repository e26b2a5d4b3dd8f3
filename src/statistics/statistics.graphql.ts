import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { toEnumValues } from '../graphql/enum-values.ts';
import type { NotificationKind, NotificationStatus } from '../notifications/notification.enums.ts';
import { NotificationKindEnum, NotificationStatusEnum } from '../notifications/notification-enums.graphql.ts';
import type { WorkspaceStatus } from '../workspaces/workspace.enums.ts';
import { WorkspaceStatusEnum } from '../workspaces/workspaces.graphql.ts';
import {
  type CredentialState,
  countCredentialsByState,
  countNotificationsByKindAndStatus,
  countWorkspacesByStatus,
  credentialStates,
} from './statistics.ts';

const NotificationCount = builder
  .objectRef<{ kind: NotificationKind; status: NotificationStatus; count: number }>('NotificationCount')
  .implement({
    description: 'Notifications of one kind and status.',
    fields: (t) => ({
      kind: t.expose('kind', { type: NotificationKindEnum, description: 'The kind.' }),
      status: t.expose('status', { type: NotificationStatusEnum, description: 'The status.' }),
      count: t.exposeInt('count', { description: 'How many.' }),
    }),
  });

const WorkspaceCount = builder
  .objectRef<{ status: WorkspaceStatus; count: number }>('WorkspaceCount')
  .implement({
    description: 'Workspaces of one status.',
    fields: (t) => ({
      status: t.expose('status', { type: WorkspaceStatusEnum, description: 'The status.' }),
      count: t.exposeInt('count', { description: 'How many.' }),
    }),
  });

const CredentialStateEnum = builder.enumType('EditorCredentialState', {
  description: 'How a stored credential stands.',
  values: toEnumValues(credentialStates, {
    connected: 'In use.',
    needs_reauth: 'Reported as failed.',
    unreadable: 'Its key is not configured.',
  }),
});

const CredentialCount = builder
  .objectRef<{ state: CredentialState; count: number }>('EditorCredentialCount')
  .implement({
    description: 'Credentials of one state.',
    fields: (t) => ({
      state: t.expose('state', { type: CredentialStateEnum, description: 'The state.' }),
      count: t.exposeInt('count', { description: 'How many.' }),
    }),
  });

const Statistics = builder.objectRef<object>('Statistics').implement({
  description: 'Counts over all users. Each is counted only when asked for.',
  fields: (t) => ({
    notifications: t.field({
      type: [NotificationCount],
      description: 'By kind and status; pairs without any are left out.',
      resolve: (_statistics, _args, { em }) => countNotificationsByKindAndStatus(em),
    }),
    workspaces: t.field({
      type: [WorkspaceCount],
      description: 'By status; statuses without any are left out.',
      resolve: (_statistics, _args, { em }) => countWorkspacesByStatus(em),
    }),
    editorCredentials: t.field({
      type: [CredentialCount],
      description: 'By state.',
      resolve: (_statistics, _args, { em, cipher }) => countCredentialsByState(em, cipher),
    }),
  }),
});

builder.queryField('statistics', (t) =>
  t.field({
    access: platform('platform:read'),
    type: Statistics,
    nullable: true,
    description: 'Counts over all users.',
    resolve: () => ({}),
  }),
);
