import type { GraphQLResolveInfo } from 'graphql';
import { accountRead } from '../auth/access.ts';
import type { Context } from '../context.ts';
import { builder, columnsOf, createRecordInterfaceRef, createRecordRef } from '../graphql/builder.ts';
import { contentWeight, textWeight } from '../graphql/document-limits.ts';
import { MAX_PAGE_SIZE } from '../graphql/page-arguments.ts';
import { defineRecordRef } from '../graphql/record-ref.ts';
import { findSelectedProperties } from '../graphql/selected-fields.ts';
import { MAX_LENGTH } from '../values/text.ts';
import { WorkspaceType } from '../workspaces/workspaces.graphql.ts';
import { findWorkspaceTogether, type SelectedWorkspace } from '../workspaces/workspaces.ts';
import { requestField } from './answers/request-type.graphql.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationKind } from './notification.enums.ts';
import {
  NotificationKindEnum,
  NotificationStatusEnum,
  ResolutionEnum,
} from './notification-enums.graphql.ts';
import { notificationList, type SelectedNotification } from './notifications.ts';
import { PlanRequested, QuestionRequested, TaskResult } from './payload.graphql.ts';
import { requirePayload } from './payload.ts';

const row = columnsOf<Notification, SelectedNotification>();

const Task = createRecordRef<SelectedNotification>('NotificationTask').implement({
  description: 'The task that a notification is about.',
  fields: () => ({
    id: row.exposeID('taskId', { description: "The task's ID." }),
    projectId: row.exposeID('projectId', { description: 'The ID of the project that the task belongs to.' }),
    name: row.exposeString('taskName', {
      nullable: true,
      description: "The task's name. `null` if unknown.",
    }),
    workspaceId: row.exposeID('workspaceId', {
      nullable: true,
      description: 'The ID of the workspace that the task runs in. `null` if unknown.',
    }),
    workspace: row.from('userId', 'workspaceId').field({
      access: accountRead,
      type: WorkspaceType,
      nullable: true,
      description: 'The workspace that the task runs in. `null` if unknown or deleted.',
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
  return workspace ?? null;
}

export const UserNotification = createRecordInterfaceRef<SelectedNotification>('UserNotification').implement({
  description: 'The fields that all kinds of notifications share.',
  fields: () => ({
    id: row.exposeID('id', {
      description: "The notification's ID, unique among the user's notifications but not across users.",
    }),
    userId: row.exposeID('userId', { description: 'The ID of the user who owns the notification.' }),
    ref: row.from('userId', 'id').field(defineRecordRef('Notification', 'id')),
    kind: row.expose('kind', { type: NotificationKindEnum, description: "The notification's kind." }),
    status: row.expose('status', { type: NotificationStatusEnum, description: "The notification's status." }),
    task: row.nested.field({
      type: Task,
      description: 'The task that the notification is about.',
      resolve: (record) => record,
    }),
    title: row.exposeString('title', { description: 'The title, one line of text.' }),
    previewText: row.exposeString('previewText', {
      nullable: true,
      extensions: textWeight(MAX_LENGTH.preview),
      description: 'A short preview of the response or error message. `null` if there is none.',
    }),
    prUrl: row.expose('prUrl', {
      type: 'URL',
      nullable: true,
      description: "The URL of the task's pull request. `null` if there is none.",
    }),
    projectName: row.exposeString('projectName', {
      nullable: true,
      description: "The project's name. `null` if unknown.",
    }),
    projectRepoUrl: row.expose('projectRepoUrl', {
      type: 'URL',
      nullable: true,
      description: "The URL of the project's repository. `null` if unknown.",
    }),
    request: row.nested.field(requestField),
    resolution: row.expose('resolution', {
      type: ResolutionEnum,
      nullable: true,
      description: 'The reason why the notification was resolved. `null` if it was never resolved.',
    }),
    occurredAt: row.expose('occurredAt', {
      type: 'DateTime',
      description: 'Timestamp at which the event occurred in the task.',
    }),
    createdAt: row.expose('createdAt', {
      type: 'DateTime',
      description: 'Timestamp of publication. Lists are sorted by it.',
    }),
    updatedAt: row.expose('updatedAt', { type: 'DateTime', description: 'Timestamp of the last change.' }),
    resolvedAt: row.expose('resolvedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp of the resolution. `null` if the notification was never resolved.',
    }),
    dismissedAt: row.expose('dismissedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp of the dismissal. `null` if the notification was not dismissed.',
    }),
  }),
});

const PlanRequestedNotification = createRecordRef<SelectedNotification>(
  'PlanRequestedNotification',
).implement({
  description: 'The notification of a task that asks the user to approve a plan.',
  interfaces: [UserNotification],
  fields: () => ({
    payload: row.from('kind', 'payload').field({
      type: PlanRequested,
      extensions: contentWeight,
      description: 'The plan to approve.',
      resolve: (row) => requirePayload(row, 'plan_requested'),
    }),
  }),
});

const QuestionRequestedNotification = createRecordRef<SelectedNotification>(
  'QuestionRequestedNotification',
).implement({
  description: 'The notification of a task that asks the user questions.',
  interfaces: [UserNotification],
  fields: () => ({
    payload: row.from('kind', 'payload').field({
      type: QuestionRequested,
      extensions: contentWeight,
      description: 'The questions to answer.',
      resolve: (row) => requirePayload(row, 'question_requested'),
    }),
  }),
});

const TaskFailedNotification = createRecordRef<SelectedNotification>('TaskFailedNotification').implement({
  description: 'The notification of a task that failed.',
  interfaces: [UserNotification],
  fields: () => ({
    payload: row.from('kind', 'payload').field({
      type: TaskResult,
      extensions: contentWeight,
      description: 'The failure of the task.',
      resolve: (row) => requirePayload(row, 'task_failed'),
    }),
  }),
});

const TaskResponseReadyNotification = createRecordRef<SelectedNotification>(
  'TaskResponseReadyNotification',
).implement({
  description: 'The notification of a task that produced a response.',
  interfaces: [UserNotification],
  fields: () => ({
    payload: row.from('kind', 'payload').field({
      type: TaskResult,
      extensions: contentWeight,
      description: 'The response of the task.',
      resolve: (row) => requirePayload(row, 'task_response_ready'),
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

/** Describes which of the changed notifications a mutation returns. */
export const replyLimit = `at most ${MAX_PAGE_SIZE}`;

/** The maximum length of a list of changed notifications, for the cost of a document. */
export const changedList = { listLength: MAX_PAGE_SIZE };

/** Reads notifications that a mutation changed, oldest first, with the selected properties. */
export async function readForReply(
  { database }: Context,
  userId: string,
  ids: readonly string[],
  info: GraphQLResolveInfo,
): Promise<readonly SelectedNotification[]> {
  if (ids.length === 0) return [];
  const page = { backwards: true, limit: MAX_PAGE_SIZE };
  return notificationList.read(database, userId, { filter: { ids }, page }, findSelectedProperties(info));
}
