import { builder } from '../graphql/builder.ts';
import { resolveFrom, resolveRecord } from '../graphql/reads.ts';
import { recordInterfaceRef, recordRef } from '../graphql/records.ts';
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

const Task = recordRef<Notification, SelectedNotification>('NotificationTask').implement({
  description: 'The task that a notification is about.',
  fields: (t) => ({
    id: t.exposeID('taskId', { description: "The task's id." }),
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    name: t.exposeString('taskName', { nullable: true, description: 'Its name.' }),
    workspaceId: t.exposeString('workspaceId', { nullable: true, description: 'The workspace it runs in.' }),
  }),
});

const UserNotification = recordInterfaceRef<Notification, SelectedNotification>('UserNotification').implement(
  {
    description: 'What every kind of notification has.',
    fields: (t) => ({
      id: t.exposeID('id', {
        description: "Unique among the user's notifications, not among those of all users.",
      }),
      userId: t.exposeID('userId', { description: 'The user who owns the notification.' }),
      kind: t.expose('kind', { type: NotificationKindEnum, description: 'What it is about.' }),
      status: t.expose('status', { type: NotificationStatusEnum, description: 'How it stands.' }),
      task: t.field({
        type: Task,
        description: 'The task it is about.',
        ...resolveRecord,
      }),
      title: t.exposeString('title', { description: 'One line for people.' }),
      previewText: t.exposeString('previewText', {
        nullable: true,
        description: 'The beginning of its text.',
      }),
      prUrl: t.exposeString('prUrl', { nullable: true, description: "The task's pull request." }),
      projectName: t.exposeString('projectName', { nullable: true, description: "The project's name." }),
      projectRepoUrl: t.exposeString('projectRepoUrl', {
        nullable: true,
        description: "The project's repository.",
      }),
      resolvedBy: t.expose('resolvedBy', {
        type: ResolutionEnum,
        nullable: true,
        description: 'Why it was resolved; null while it never was.',
      }),
      occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it happened in the task.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it reached the gateway.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
      resolvedAt: t.expose('resolvedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was resolved.',
      }),
      dismissedAt: t.expose('dismissedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was dismissed.',
      }),
    }),
  },
);

function resolvePayload<Kind extends NotificationKind>(kind: Kind) {
  return resolveFrom<Notification>()(['kind', 'payload'], (row) => requirePayload(row, kind));
}

const PlanRequestedNotification = recordRef<Notification, SelectedNotification>(
  'PlanRequestedNotification',
).implement({
  description: "The task asks for a plan's approval.",
  interfaces: [UserNotification],
  fields: (t) => ({
    payload: t.field({
      type: PlanRequested,
      description: 'The plan.',
      ...resolvePayload('plan_requested'),
    }),
  }),
});

const QuestionRequestedNotification = recordRef<Notification, SelectedNotification>(
  'QuestionRequestedNotification',
).implement({
  description: 'The task asks questions.',
  interfaces: [UserNotification],
  fields: (t) => ({
    payload: t.field({
      type: QuestionRequested,
      description: 'The questions.',
      ...resolvePayload('question_requested'),
    }),
  }),
});

const TaskFailedNotification = recordRef<Notification, SelectedNotification>(
  'TaskFailedNotification',
).implement({
  description: 'The task failed.',
  interfaces: [UserNotification],
  fields: (t) => ({
    payload: t.field({
      type: TaskResult,
      description: 'How it failed.',
      ...resolvePayload('task_failed'),
    }),
  }),
});

const TaskResponseReadyNotification = recordRef<Notification, SelectedNotification>(
  'TaskResponseReadyNotification',
).implement({
  description: 'The task has an answer.',
  interfaces: [UserNotification],
  fields: (t) => ({
    payload: t.field({
      type: TaskResult,
      description: 'The answer.',
      ...resolvePayload('task_response_ready'),
    }),
  }),
});

const typeNames = {
  plan_requested: 'PlanRequestedNotification',
  question_requested: 'QuestionRequestedNotification',
  task_failed: 'TaskFailedNotification',
  task_response_ready: 'TaskResponseReadyNotification',
} as const satisfies Record<NotificationKind, string>;

/** A notification of any kind. */
export const NotificationUnion = builder.unionType('Notification', {
  description: 'A notification; its kind decides the type.',
  types: [
    PlanRequestedNotification,
    QuestionRequestedNotification,
    TaskFailedNotification,
    TaskResponseReadyNotification,
  ],
  resolveType: ({ kind }: SelectedNotification) => typeNames[kind],
});
