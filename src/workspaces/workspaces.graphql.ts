import type { InputShapeFromFields } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { accountRead } from '../auth/access.ts';
import type { Context, RootValue } from '../context.ts';
import { admitLargeRead } from '../graphql/admit-large-reply.ts';
import { builder, createRecordRef, toEnumValues } from '../graphql/builder.ts';
import { findByteShare } from '../graphql/byte-share.ts';
import { cursorField, defineConnectionType, readConnection, shortPageNote } from '../graphql/connection.ts';
import { countNested, limitNestedPage, nestedPageNote } from '../graphql/nested-list.ts';
import { definePageArguments } from '../graphql/page-arguments.ts';
import { defineRecordRef } from '../graphql/record-ref.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { findSelectedProperties, reads, resolveFrom, resolveRecord } from '../graphql/selected-fields.ts';
import { readEntityTag } from '../revisions/revisions.ts';
import { type UserNode, UserRef, viewerNode } from '../users/user.graphql.ts';
import { isUuid } from '../values/text.ts';
import type { Workspace } from './workspace.entity.ts';
import { workspaceStatuses } from './workspace.enums.ts';
import {
  countWorkspaces,
  countWorkspacesTogether,
  listWorkspaces,
  listWorkspacesTogether,
  readWorkspaceTexts,
  type SelectedWorkspace,
} from './workspaces.ts';

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

const Hardware = createRecordRef<Workspace, SelectedWorkspace>('Hardware').implement({
  description: 'The hardware that a workspace runs on.',
  fields: (t) => ({
    cpuKind: t.exposeString('cpuKind', { description: 'The kind of processor.' }),
    cpus: t.exposeInt('cpus', { description: 'The number of processors.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'The size of the memory in megabytes.' }),
    volumeSizeGb: t.exposeInt('volumeSizeGb', { description: 'The size of the volume in gigabytes.' }),
    gpuKind: t.exposeString('gpuKind', {
      nullable: true,
      description: 'The kind of graphics processor. `null` if there is none.',
    }),
  }),
});

/** A workspace. */
export const WorkspaceType = createRecordRef<Workspace, SelectedWorkspace>('Workspace').implement({
  description: 'A development workspace of a user.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: "The workspace's ID: a UUID, unique among the user's workspaces but not across users.",
    }),
    userId: t.exposeID('userId', { description: 'The ID of the user who owns the workspace.' }),
    ref: t.field(defineRecordRef<Workspace>('Workspace', 'id')),
    projectId: t.exposeID('projectId', {
      description: 'The ID of the project that the workspace belongs to.',
    }),
    status: t.expose('status', { type: WorkspaceStatusEnum, description: "The workspace's status." }),
    hardware: t.field({
      type: Hardware,
      description: 'The hardware that the workspace runs on.',
      ...resolveRecord,
    }),
    keepActive: t.exposeBoolean('keepActive', {
      description: 'Whether the workspace stays running when idle.',
    }),
    machineId: t.exposeString('machineId', {
      nullable: true,
      description: 'The ID of the machine that the workspace runs on. `null` until it is provisioned.',
    }),
    privateIp: t.exposeString('privateIp', {
      nullable: true,
      description: "The workspace's address in the internal network. `null` if it has none.",
    }),
    gitRef: t.exposeString('gitRef', {
      nullable: true,
      description: 'The current git reference in the workspace. `null` if unknown.',
    }),
    previewToken: t.field({
      type: 'Secret',
      nullable: true,
      description:
        "The token for the workspace's preview URLs. `null` if there is none, or if the caller is not the workspace's user with the scope `account:read`.",
      extensions: reads<Workspace>('userId', 'previewToken'),
      resolve: ({ userId, previewToken }, _args, { viewer }) =>
        userId === viewer.userId && viewer.scopes.has('account:read') ? previewToken : null,
    }),
    errorMessage: t.string({
      nullable: true,
      description: 'The details of the error, if known. `null` unless the status is `ERROR`.',
      ...resolveFrom<Workspace>()(['status', 'errorMessage'], ({ status, errorMessage }) =>
        status === 'error' ? errorMessage : null,
      ),
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'Timestamp of creation, as reported by the platform. Lists are sorted by it.',
    }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'Timestamp of the last change, as reported by the platform.',
    }),
  }),
});

const WorkspaceEdge = createRecordRef<Workspace, SelectedWorkspace>('WorkspaceEdge').implement({
  description: 'A workspace in a list, with its cursor.',
  fields: (t) => ({
    node: t.field({
      type: WorkspaceType,
      description: 'The workspace.',
      ...resolveRecord,
    }),
    cursor: t.string(cursorField),
  }),
});

const WorkspaceConnection = defineConnectionType('Workspace', { node: WorkspaceType, edge: WorkspaceEdge });

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

function resolveList(
  { userId, reader, isListed }: UserNode,
  { filter: given, ...page }: InputShapeFromFields<typeof listArguments>,
  root: RootValue,
  context: Context,
  info: GraphQLResolveInfo,
) {
  const { database } = context;
  const filter = given ?? {};
  const selected = findSelectedProperties(info);
  const list = {
    readTexts: (ids: string[]) => readWorkspaceTexts(database, { userId, ids }, selected),
    admitLargeRead: (bytes: number) => admitLargeRead(context, bytes, reader),
    readTag: () => readEntityTag(database, userId, 'workspaces'),
    isId: isUuid,
  };
  if (!isListed) {
    return readConnection(page, root, {
      ...list,
      share: findByteShare(info),
      readRecords: (page) => listWorkspaces(database, userId, filter, page, selected),
      totalCount: () => countWorkspaces(database, userId, filter),
    });
  }
  return readConnection(limitNestedPage(page), root, {
    ...list,
    share: { ...findByteShare(info), isNested: true },
    readRecords: (page) => listWorkspacesTogether(database, { userId, query: { filter, page } }, selected),
    onReturn: (count) => countNested(context, count),
    totalCount: async () => {
      const [counted] = await countWorkspacesTogether(database, { userId, query: filter });
      return counted?.count ?? 0;
    },
  });
}

export const workspacesField = 'workspaces';

builder.queryField(workspacesField, (t) =>
  t.field({
    access: accountRead,
    type: WorkspaceConnection,
    nullable: true,
    description: `Returns the caller's workspaces in all projects, newest first. ${shortPageNote}`,
    args: listArguments,
    resolve: (root, args, context, info) => resolveList(viewerNode(context), args, root, context, info),
  }),
);

builder.objectField(UserRef, workspacesField, (t) =>
  t.field({
    access: accountRead,
    type: WorkspaceConnection,
    nullable: true,
    description: `The user's workspaces in all projects, newest first. ${nestedPageNote} ${shortPageNote}`,
    args: listArguments,
    resolve: (user, args, context, info) => resolveList(user, args, {}, context, info),
  }),
);
