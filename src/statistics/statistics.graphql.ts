import type { EntityManager } from '@mikro-orm/postgresql';
import { platform } from '../auth/access.ts';
import { builder, toEnumValues } from '../graphql/builder.ts';
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

const CredentialStateEnum = builder.enumType('EditorCredentialState', {
  description: 'The state of a stored token pair.',
  values: toEnumValues(credentialStates, {
    connected: 'No failure was reported.',
    needs_reauth: 'The platform reported a failure, and the user must connect the editor again.',
    unreadable: 'The key that encrypted the token pair is not configured.',
  }),
});

const CredentialCount = builder
  .objectRef<{ state: CredentialState; count: number }>('EditorCredentialCount')
  .implement({
    description: 'The number of stored token pairs in one state.',
    fields: (t) => ({
      state: t.expose('state', { type: CredentialStateEnum, description: 'The state of the token pairs.' }),
      count: t.exposeInt('count', { description: 'The number of token pairs.' }),
    }),
  });

const Statistics = builder.objectRef<EntityManager>('Statistics').implement({
  description: 'Counts of the records of all users. Each is computed only if it is selected.',
  fields: (t) => ({
    notifications: t.field({
      type: [NotificationCount],
      description:
        'The number of notifications by kind and status. Combinations without notifications are omitted.',
      resolve: (em) => countNotificationsByKindAndStatus(em),
    }),
    workspaces: t.field({
      type: [WorkspaceCount],
      description: 'The number of workspaces by status. Statuses without workspaces are omitted.',
      resolve: (em) => countWorkspacesByStatus(em),
    }),
    editorCredentials: t.field({
      type: [CredentialCount],
      description: 'The number of stored token pairs in each state.',
      resolve: (em, _args, { cipher }) => countCredentialsByState(em, cipher),
    }),
  }),
});

builder.queryField('statistics', (t) =>
  t.field({
    access: platform('platform:read'),
    type: Statistics,
    nullable: true,
    description: 'Returns counts of the records of all users.',
    resolve: (_root, _args, { database }) => database.fork(),
  }),
);
