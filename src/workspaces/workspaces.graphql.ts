import { accountRead, accountStream } from '../auth/access.ts';
import { builder, columnsOf, createRecordRef, toEnumValues, userArgument } from '../graphql/builder.ts';
import { defineConnectionType, shortPageNote } from '../graphql/connection.ts';
import { textWeight } from '../graphql/document-limits.ts';
import { countListPoints, definePageArguments, defineRestArguments } from '../graphql/page-arguments.ts';
import { defineRecordRef } from '../graphql/record-ref.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { findSelectedProperties, readBySubfields } from '../graphql/selected-fields.ts';
import { type ListField, nestedPageNote, readUserList, viewerNode } from '../graphql/user-list.ts';
import { createSourceReader } from '../live/source.ts';
import { openStream } from '../live/stream.ts';
import { UserRef } from '../users/user.graphql.ts';
import { isUuid, MAX_LENGTH } from '../values/text.ts';
import type { Workspace } from './workspace.entity.ts';
import { workspaceStatuses } from './workspace.enums.ts';
import { createWorkspaceSource, type WorkspaceEvent } from './workspace-events.ts';
import { type SelectedWorkspace, type WorkspaceFilter, workspaceList } from './workspaces.ts';

/** The statuses of a workspace. */
export const WorkspaceStatusEnum = builder.enumType('WorkspaceStatus', {
  description: 'The status of a workspace.',
  values: toEnumValues(workspaceStatuses, {
    creating: 'The workspace is being created.',
    starting: 'The workspace is starting.',
    running: 'The workspace is running.',
    stopping: 'The workspace is stopping.',
    stopped: 'The workspace is stopped.',
    error: 'The workspace failed. `errorMessage` has the details, if known.',
  }),
});

const row = columnsOf<Workspace, SelectedWorkspace>();

const Hardware = createRecordRef<SelectedWorkspace>('Hardware').implement({
  description: 'The hardware that a workspace runs on.',
  fields: () => ({
    cpuKind: row.exposeString('cpuKind', { description: 'The kind of processor.' }),
    cpus: row.exposeInt('cpus', { description: 'The number of processors.' }),
    memoryMb: row.exposeInt('memoryMb', { description: 'The size of the memory in megabytes.' }),
    volumeSizeGb: row.exposeInt('volumeSizeGb', { description: 'The size of the volume in gigabytes.' }),
    gpuKind: row.exposeString('gpuKind', {
      nullable: true,
      description: 'The kind of graphics processor. `null` if there is none.',
    }),
  }),
});

/** A workspace. */
export const WorkspaceType = createRecordRef<SelectedWorkspace>('Workspace').implement({
  description: 'A development workspace of a user.',
  fields: () => ({
    id: row.exposeID('id', {
      description: "The workspace's ID: a UUID, unique among the user's workspaces but not across users.",
    }),
    userId: row.exposeID('userId', { description: 'The ID of the user who owns the workspace.' }),
    ref: row.from('userId', 'id').field(defineRecordRef('Workspace', 'id')),
    projectId: row.exposeID('projectId', {
      description: 'The ID of the project that the workspace belongs to.',
    }),
    status: row.expose('status', { type: WorkspaceStatusEnum, description: "The workspace's status." }),
    hardware: row.nested.field({
      type: Hardware,
      description: 'The hardware that the workspace runs on.',
      resolve: (record) => record,
    }),
    keepActive: row.exposeBoolean('keepActive', {
      description: 'Whether the workspace stays running when idle.',
    }),
    machineId: row.exposeString('machineId', {
      nullable: true,
      description: 'The ID of the machine that the workspace runs on. `null` until it is provisioned.',
    }),
    privateIp: row.exposeString('privateIp', {
      nullable: true,
      description: "The workspace's address in the internal network. `null` if it has none.",
    }),
    gitRef: row.exposeString('gitRef', {
      nullable: true,
      description: 'The current git reference in the workspace. `null` if unknown.',
    }),
    previewToken: row.from('userId', 'previewToken').field({
      type: 'Secret',
      nullable: true,
      description:
        "The token for the workspace's preview URLs. `null` if there is none, or if the caller is not the workspace's user with the scope `account:read`.",
      resolve: ({ userId, previewToken }, _args, { viewer }) =>
        userId === viewer.userId && viewer.scopes.has('account:read') ? previewToken : null,
    }),
    errorMessage: row.from('status', 'errorMessage').string({
      nullable: true,
      extensions: textWeight(MAX_LENGTH.errorMessage),
      description: 'The details of the error, if known. `null` unless the status is `ERROR`.',
      resolve: ({ status, errorMessage }) => (status === 'error' ? errorMessage : null),
    }),
    createdAt: row.expose('createdAt', {
      type: 'DateTime',
      description: 'Timestamp of creation, as reported by the platform. Lists are sorted by it.',
    }),
    updatedAt: row.expose('updatedAt', {
      type: 'DateTime',
      description: 'Timestamp of the last change, as reported by the platform.',
    }),
  }),
});

const WorkspaceConnection = defineConnectionType('Workspace', { node: WorkspaceType, record: 'workspace' });

const WorkspaceFilterInput = builder.inputType('WorkspaceFilter', {
  description: 'A filter of workspaces. Workspaces must meet all conditions.',
  fields: (t) => ({
    projectIds: t.idList({
      description: 'Filter by project. Defaults to all projects. An empty list selects none.',
      validate: { ...maxItems(100), items: idRule },
    }),
    statuses: t.field({
      type: [WorkspaceStatusEnum],
      description: 'Filter by status. Defaults to all statuses. An empty list selects none.',
      validate: maxItems(100),
    }),
  }),
});

/** The arguments of lists of workspaces. */
const listArguments = {
  ...definePageArguments(),
  ...builder.args((t) => ({
    filter: t.field({ type: WorkspaceFilterInput, description: 'Defaults to all workspaces.' }),
  })),
};

const list: ListField<WorkspaceFilter, SelectedWorkspace> = {
  name: 'workspaces',
  list: workspaceList,
  isId: isUuid,
};

export const workspacesField = 'workspaces';

builder.queryField(workspacesField, (t) =>
  t.field({
    access: { ...accountRead, points: countListPoints },
    type: WorkspaceConnection,
    nullable: true,
    description: `Returns the caller's workspaces in all projects, newest first. ${shortPageNote}`,
    args: { ...listArguments, ...defineRestArguments() },
    resolve: (_root, { filter, ...page }, context, info) =>
      readUserList(list, viewerNode(context), { filter: filter ?? {}, page }, context, info),
  }),
);

builder.objectField(UserRef, workspacesField, (t) =>
  t.field({
    access: accountRead,
    type: WorkspaceConnection,
    nullable: true,
    description: `The user's workspaces in all projects, newest first. ${nestedPageNote} ${shortPageNote}`,
    args: listArguments,
    resolve: (user, { filter, ...page }, context, info) =>
      readUserList(list, user, { filter: filter ?? {}, page }, context, info),
  }),
);

export const WorkspaceEventType = builder.objectRef<WorkspaceEvent>('WorkspaceEvent').implement({
  description: 'A change of a workspace.',
  fields: (t) => ({
    workspaceId: t.exposeID('id', { description: "The workspace's ID." }),
    workspace: t.expose('workspace', {
      type: WorkspaceType,
      nullable: true,
      description: 'The workspace in its current state. `null` if it was deleted.',
      extensions: readBySubfields,
    }),
  }),
});

builder.subscriptionField('workspaceEvents', (t) =>
  t.field({
    access: accountStream,
    type: WorkspaceEventType,
    description:
      "Delivers all of a user's workspaces in their current state, then the new state of each workspace that changes. Intermediate states may be skipped. The stream ends when the token expires.",
    args: { userId: t.arg.id(userArgument) },
    subscribe: (_root, { userId }, context, info) => {
      const { database, viewer } = context;
      const user = userId ?? viewer.userId;
      const source = createWorkspaceSource(database, user, findSelectedProperties(info));
      return openStream(context, createSourceReader(database, user, source));
    },
    resolve: (event) => event,
  }),
);
