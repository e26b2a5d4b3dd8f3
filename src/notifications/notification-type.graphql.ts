import type { GraphQLResolveInfo } from 'graphql';
import { accountRead } from '../auth/access.ts';
import type { Context } from '../context.ts';
import { builder, createRecordInterfaceRef, createRecordRef } from '../graphql/builder.ts';
import { countNested } from '../graphql/nested-list.ts';
import { defineRecordRef } from '../graphql/record-ref.ts';
import { findSelectedProperties, reads, resolveFrom, resolveRecord } from '../graphql/selected-fields.ts';
import { WorkspaceType } from '../workspaces/workspaces.graphql.ts';
import { findWorkspaceTogether, type SelectedWorkspace } from '../workspaces/workspaces.ts';
import { findResolution } from './answers/answer.ts';
import { requestField } from './answers/request-type.graphql.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationKind } from './notification.enums.ts';
import {
  NotificationKindEnum,
  NotificationStatusEnum,
  ResolutionEnum,
} from './notification-enums.graphql.ts';
import type { SelectedNotification } from './notifications.ts';
import { PlanRequested, QuestionRequested, TaskResult } from './payload.graphql.ts';
import { requirePayload } from './payload.ts';

const Task = createRecordRef<Notification, SelectedNotification>('NotificationTask').implement({
  description: 'The task that a notification is about.',
  fields: (t) => ({
    id: t.exposeID('taskId', { description: "The task's ID." }),
    projectId: t.exposeID('projectId', { description: 'The ID of the project that the task belongs to.' }),
    name: t.exposeString('taskName', { nullable: true, description: "The task's name. `null` if unknown." }),
    workspaceId: t.exposeID('workspaceId', {
      nullable: true,
      description: 'The ID of the workspace that the task runs in. `null` if unknown.',
    }),
    workspace: t.field({
      access: accountRead,
      type: WorkspaceType,
      nullable: true,
      description: 'The workspace that the task runs in. `null` if unknown or deleted.',
      extensions: reads<Notification>('userId', 'workspaceId'),
      resolve: ({ userId, workspaceId }, _args, context, info) =>
        workspaceId === null ? null : findTaskWorkspace(context, { userId, id: workspaceId }, info),
    }),
  }),
});

async function findTaskWorkspace(
  context: Context,
  key: { userId: string; id: string },
  info: GraphQLResolveInfo,
): Promise<SelectedWorkspace | null> {
  const selected = findSelectedProperties(info);
  const { workspace } = await findWorkspaceTogether(context.database, key, selected);
  if (workspace === undefined) return null;
  countNested(context, 1, workspace.errorMessage?.length);
  return workspace;
}

export const UserNotification = createRecordInterfaceRef<Notification, SelectedNotification>(
  'UserNotification',
).implement({
  description: 'The fields that all kinds of notifications share.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: "The notification's ID, unique among the user's notifications but not across users.",
    }),
    userId: t.exposeID('userId', { description: 'The ID of the user who owns the notification.' }),
    ref: t.field(defineRecordRef<Notification>('Notification', 'id')),
    kind: t.expose('kind', { type: NotificationKindEnum, description: "The notification's kind." }),
    status: t.expose('status', { type: NotificationStatusEnum, description: "The notification's status." }),
    task: t.field({
      type: Task,
      description: 'The task that the notification is about.',
      ...resolveRecord,
    }),
    title: t.exposeString('title', { description: 'The title, one line of text.' }),
    previewText: t.exposeString('previewText', {
      nullable: true,
      description: 'A short preview of the response or error message. `null` if there is none.',
    }),
    prUrl: t.expose('prUrl', {
      type: 'URL',
      nullable: true,
      description: "The URL of the task's pull request. `null` if there is none.",
    }),
    projectName: t.exposeString('projectName', {
      nullable: true,
      description: "The project's name. `null` if unknown.",
    }),
    projectRepoUrl: t.expose('projectRepoUrl', {
      type: 'URL',
      nullable: true,
      description: "The URL of the project's repository. `null` if unknown.",
    }),
    request: t.field(requestField),
    resolution: t.field({
      type: ResolutionEnum,
      nullable: true,
      description: 'The reason why the notification was resolved. `null` if it was never resolved.',
      ...resolveFrom<Notification>()(['resolution', 'requestState'], findResolution),
    }),
    occurredAt: t.expose('occurredAt', {
      type: 'DateTime',
      description: 'Timestamp at which the event occurred in the task.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'Timestamp of publication. Lists are sorted by it.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'Timestamp of the last change.' }),
    resolvedAt: t.expose('resolvedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp of the resolution. `null` if the notification was never resolved.',
    }),
    dismissedAt: t.expose('dismissedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp of the dismissal. `null` if the notification was not dismissed.',
    }),
  }),
});

function resolvePayload<Kind extends NotificationKind>(kind: Kind) {
  return resolveFrom<Notification>()(['kind', 'payload'], (row) => requirePayload(row, kind));
}

const PlanRequestedNotification = createRecordRef<Notification, SelectedNotification>(
  'PlanRequestedNotification',
).implement({
  description: 'The notification of a task that asks the user to approve a plan.',
  interfaces: [UserNotification],
  fields: (t) => ({
    payload: t.field({
      type: PlanRequested,
      description: 'The plan to approve.',
      ...resolvePayload('plan_requested'),
    }),
  }),
});

const QuestionRequestedNotification = createRecordRef<Notification, SelectedNotification>(
  'QuestionRequestedNotification',
).implement({
  description: 'The notification of a task that asks the user questions.',
  interfaces: [UserNotification],
  fields: (t) => ({
    payload: t.field({
      type: QuestionRequested,
      description: 'The questions to answer.',
      ...resolvePayload('question_requested'),
    }),
  }),
});

const TaskFailedNotification = createRecordRef<Notification, SelectedNotification>(
  'TaskFailedNotification',
).implement({
  description: 'The notification of a task that failed.',
  interfaces: [UserNotification],
  fields: (t) => ({
    payload: t.field({
      type: TaskResult,
      description: 'The failure of the task.',
      ...resolvePayload('task_failed'),
    }),
  }),
});

const TaskResponseReadyNotification = createRecordRef<Notification, SelectedNotification>(
  'TaskResponseReadyNotification',
).implement({
  description: 'The notification of a task that produced a response.',
  interfaces: [UserNotification],
  fields: (t) => ({
    payload: t.field({
      type: TaskResult,
      description: 'The response of the task.',
      ...resolvePayload('task_response_ready'),
    }),
  }),
});

const types = {
  plan_requested: PlanRequestedNotification,
  question_requested: QuestionRequestedNotification,
  task_failed: TaskFailedNotification,
  task_response_ready: TaskResponseReadyNotification,
} as const satisfies Record<NotificationKind, unknown>;

/** A notification of any kind. */
export const NotificationUnion = builder.unionType('Notification', {
  description: 'A notification. Its kind determines its type.',
  types: Object.values(types),
  resolveType: ({ kind }: SelectedNotification) => types[kind].name,
});
