import { accountRead } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { connect, connectionType, cursorField, pageArguments } from '../graphql/connection.ts';
import { enumValues } from '../graphql/enum-values.ts';
import { readsBelow, resolveFrom, resolveRecord, selectedProperties } from '../graphql/reads.ts';
import { recordRef } from '../graphql/records.ts';
import { maxItems } from '../graphql/rules.ts';
import { userArgument } from '../graphql/user-argument.ts';
import { openStream } from '../live/stream.ts';
import { readEntityTag } from '../revisions/revisions.ts';
import { isUuid } from '../values/text.ts';
import type { Workspace } from './workspace.entity.ts';
import { workspaceStatuses } from './workspace.enums.ts';
import { type WorkspaceEvent, watchWorkspaces } from './workspace-events.ts';
import { countWorkspaces, listWorkspaces, type SelectedWorkspace } from './workspaces.ts';

/** The statuses of a workspace. */
export const WorkspaceStatusEnum = builder.enumType('WorkspaceStatus', {
  description: 'How a workspace stands.',
  values: enumValues(workspaceStatuses, {
    creating: 'Being made.',
    starting: 'Being started.',
    running: 'Running.',
    stopping: 'Being stopped.',
    stopped: 'Stopped.',
    error: 'Failed; `errorMessage` may say why.',
  }),
});

const Hardware = recordRef<Workspace, SelectedWorkspace>('Hardware').implement({
  description: 'What a workspace runs on.',
  fields: (t) => ({
    cpuKind: t.exposeString('cpuKind', { description: 'Kind of processor.' }),
    cpus: t.exposeInt('cpus', { description: 'Number of processors.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory in megabytes.' }),
    volumeSizeGb: t.exposeInt('volumeSizeGb', { description: 'Disk in gigabytes.' }),
    gpuKind: t.exposeString('gpuKind', {
      nullable: true,
      description: 'Kind of graphics processor; null without one.',
    }),
  }),
});

/** A workspace. */
export const WorkspaceType = recordRef<Workspace, SelectedWorkspace>('Workspace').implement({
  description: 'A workspace of a user.',
  fields: (t) => ({
    id: t.exposeID('id', { description: "A UUID, unique among the user's workspaces." }),
    userId: t.exposeID('userId', { description: 'The user who owns the workspace.' }),
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    status: t.expose('status', { type: WorkspaceStatusEnum, description: 'How it stands.' }),
    hardware: t.field({
      type: Hardware,
      description: 'What it runs on.',
      ...resolveRecord,
    }),
    keepActive: t.exposeBoolean('keepActive', { description: 'Whether it stays running when idle.' }),
    machineId: t.exposeString('machineId', { nullable: true, description: 'Present when provisioned.' }),
    privateIp: t.exposeString('privateIp', {
      nullable: true,
      description: 'Address inside the internal network.',
    }),
    gitRef: t.exposeString('gitRef', { nullable: true, description: 'The current git reference.' }),
    previewToken: t.expose('previewToken', {
      type: 'Secret',
      nullable: true,
      description: 'The token for preview URLs.',
    }),
    errorMessage: t.string({
      nullable: true,
      description: 'Details while the status is `ERROR`.',
      ...resolveFrom<Workspace>()(['status', 'errorMessage'], ({ status, errorMessage }) =>
        status === 'error' ? errorMessage : null,
      ),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
});

const WorkspaceEdge = recordRef<Workspace, SelectedWorkspace>('WorkspaceEdge').implement({
  description: 'A workspace in a list.',
  fields: (t) => ({
    node: t.field({
      type: WorkspaceType,
      description: 'The workspace.',
      ...resolveRecord,
    }),
    cursor: t.string(cursorField),
  }),
});

const WorkspaceConnection = connectionType('Workspace', { node: WorkspaceType, edge: WorkspaceEdge });

builder.queryField('workspaces', (t) =>
  t.field({
    access: accountRead,
    type: WorkspaceConnection,
    nullable: true,
    description: "A user's workspaces over all projects, newest first.",
    args: {
      ...pageArguments(),
      userId: t.arg.id(userArgument),
      projectId: t.arg.id({ description: 'Only this project.' }),
      status: t.arg({
        type: [WorkspaceStatusEnum],
        description: 'Only these statuses.',
        validate: maxItems(100),
      }),
    },
    resolve: (_root, { userId, projectId, status, ...page }, { em, viewer, listing }, info) => {
      const owner = userId ?? viewer.userId;
      const reads = selectedProperties(info);
      return connect(page, listing, {
        reads,
        page: (page) => listWorkspaces(em, owner, { projectId, status }, page, reads),
        totalCount: () => countWorkspaces(em, owner, { projectId, status }),
        etag: () => readEntityTag(em, owner, 'workspaces'),
        isId: isUuid,
      });
    },
  }),
);

const WorkspaceEventType = builder.objectRef<WorkspaceEvent>('WorkspaceEvent').implement({
  description: 'A change of a workspace.',
  fields: (t) => ({
    workspaceId: t.exposeID('id', { description: "The workspace's ID." }),
    workspace: t.expose('workspace', {
      type: WorkspaceType,
      nullable: true,
      description: 'The current state; null if the workspace was deleted.',
      extensions: readsBelow,
    }),
  }),
});

builder.subscriptionField('workspaceEvents', (t) =>
  t.field({
    access: accountRead,
    type: WorkspaceEventType,
    description:
      "All of a user's workspaces in their current state, then each change. It ends when the token expires.",
    args: { userId: t.arg.id(userArgument) },
    subscribe: (_root, { userId }, context, info) => {
      const { em, viewer } = context;
      return openStream(context, watchWorkspaces(em, userId ?? viewer.userId, selectedProperties(info)));
    },
    resolve: (event) => event,
  }),
);
