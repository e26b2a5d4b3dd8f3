import { z } from 'zod';
import {
  type NotificationKind,
  notificationKinds,
  notificationStatuses,
  taskStatuses,
} from '../src/notifications/notification.enums.ts';
import { path, query, route } from './route.ts';
import { timestamp } from './timestamp.ts';
import { variant } from './wire.ts';

const text = () => z.string().min(1);

/** Kinds in the specification's order. */
export const notificationKind = z
  .enum(notificationKinds)
  .meta({ id: 'NotificationKind', description: 'What happened to the task; it selects the payload.' });

const notificationStatus = z.enum(notificationStatuses).meta({
  id: 'NotificationStatus',
  description:
    '`active`: it waits for the user. `resolved`: the platform settled it, because the task went on, is gone or has ' +
    'something newer to say. `dismissed`: the user put it away.',
});

const task = z
  .strictObject({
    id: text().describe('The task.'),
    project_id: text().describe('The project that the task belongs to.'),
    name: z.string().optional().describe('What the task is called; left out where it has no name.'),
    workspace_id: z.string().nullable().describe('The workspace that the task runs in, if any.'),
  })
  .meta({ id: 'NotificationTask', description: 'The task that a notification is about.' });

const option = z
  .strictObject({
    label: z.string().describe('What the user reads and chooses.'),
    description: z.string().optional().describe('What choosing it means.'),
    preview: z.string().optional().describe('What it would look like.'),
  })
  .meta({ id: 'AskUserQuestionOption', description: 'One of the answers to choose from.' });

const question = z
  .strictObject({
    question: z.string().describe('The question itself.'),
    options: z.array(option).describe('The answers to choose from.'),
    header: z.string().optional().describe('A word or two that stand above it.'),
    id: z.string().optional().describe('What the agent calls the question.'),
    multiSelect: z.boolean().nullish().describe('Whether several answers may be chosen.'),
  })
  .meta({ id: 'AskUserQuestion', description: 'A question to the user.' });

const planRequested = z
  .strictObject({
    tool_id: text().describe('The call of the tool that waits for the approval.'),
    summary: z.string().describe('The plan in short, as in `input`.'),
    plan: z.string().describe('The plan, as in `input`.'),
    input: z
      .looseObject({
        summary: z.string().describe('The plan in short.'),
        plan: z.string().describe('The plan.'),
      })
      .describe("The agent's own JSON, as it came, additional properties included."),
  })
  .meta({ id: 'PlanRequestedPayload', description: 'A plan that waits for approval.' });

const questionRequested = z
  .strictObject({
    tool_id: text().describe('The call of the tool that waits for the answers.'),
    input: z
      .looseObject({ questions: z.array(question).describe('What is asked.') })
      .describe("The agent's own JSON, as it came, additional properties included."),
  })
  .meta({ id: 'QuestionRequestedPayload', description: 'Questions that wait for answers.' });

const taskResult = z
  .strictObject({
    task_status: z.enum(taskStatuses).describe('How the task stands.'),
    message: z.string().optional().describe('What the task says.'),
    message_label: z.string().optional().describe('What the message is called.'),
    message_timestamp: z.string().nullable().describe('When it was said, as the platform wrote it.'),
  })
  .meta({ id: 'TaskResultPayload', description: 'What came of a task.' });

function notificationShape<Kind extends NotificationKind, Payload extends z.ZodObject>(
  typeName: string,
  description: string,
  kind: Kind,
  payload: Payload,
) {
  return variant(typeName, {
    id: text().describe('Opaque, unique within a user, and the same in GraphQL.'),
    kind: z.literal(kind).describe('Selects the payload.'),
    status: notificationStatus,
    task,
    title: z.string().describe('One line for a list.'),
    payload,
    occurred_at: timestamp.describe('When it happened.'),
    created_at: timestamp.describe('When it was published; lists are newest first by it.'),
    updated_at: timestamp.describe('When it last changed.'),
    dismissed_at: timestamp.nullable().describe('When the user put it away; null until then.'),
    resolved_at: timestamp
      .nullable()
      .describe('When the platform settled it; it stays when it is dismissed.'),
    pr_url: z.string().nullable().describe('The pull request that came of the task.'),
    preview_text: z.string().nullable().describe('A few words of what it says.'),
    project_name: z.string().optional().describe('What the project is called; left out while unknown.'),
    project_repo_url: z.string().nullable().describe("Where the project's repository lies."),
  }).meta({ id: typeName, description });
}

/** Notification (UserNotification) of the specification. */
const notification = z
  .discriminatedUnion('kind', [
    notificationShape(
      'PlanRequestedNotification',
      'A task asks for the approval of its plan.',
      'plan_requested',
      planRequested,
    ),
    notificationShape(
      'QuestionRequestedNotification',
      'A task asks questions.',
      'question_requested',
      questionRequested,
    ),
    notificationShape('TaskFailedNotification', 'A task failed.', 'task_failed', taskResult),
    notificationShape(
      'TaskResponseReadyNotification',
      'A task responded.',
      'task_response_ready',
      taskResult,
    ),
  ])
  .meta({ id: 'Notification', description: 'One of four variants, told apart by `kind`.' });

/** Reading and dismissing notifications. */
export const notifications = [
  route({
    method: 'post',
    path: '/user/notifications/{id}/dismiss',
    field: 'dismissNotification',
    tag: 'Notifications',
    summary: 'Dismiss a notification',
    description:
      'Whatever its status was, it is `dismissed` afterwards. Once more changes nothing, not even `updated_at`. ' +
      'No body is read. The ids `.` and `..` cannot be written in an address: dismiss those by GraphQL.',
    bind: { input: { id: path('id', 'The notification.') } },
    reply: {
      status: 200,
      name: 'notification',
      from: 'notification',
      shape: notification,
      description: 'The notification, dismissed.',
    },
  }),
  route({
    method: 'get',
    path: '/user/notifications',
    field: 'notifications',
    tag: 'Notifications',
    isExtension: true,
    summary: 'List notifications',
    description: 'Newest first by `created_at`, then by `id`.',
    bind: {
      status: query('status', notificationStatus, 'Only those of this status; may be repeated.'),
      kind: query('kind', notificationKind, 'Only those of this kind; may be repeated.'),
    },
    paged: true,
    reply: {
      status: 200,
      name: 'notifications',
      from: 'nodes',
      shape: z.array(notification),
      description: 'The notifications.',
    },
  }),
];
