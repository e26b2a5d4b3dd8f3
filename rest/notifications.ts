import { z } from 'zod';
import { path, query, route } from './route.ts';
import { variant } from './wire.ts';

const id = z.string().min(1);
const time = z.iso.datetime();

/** Kinds in the specification's order. */
export const notificationKind = z.enum([
  'plan_requested',
  'question_requested',
  'task_failed',
  'task_response_ready',
]);
const notificationStatus = z.enum(['active', 'resolved', 'dismissed']);

const task = z.strictObject({
  id,
  project_id: id,
  name: z.string().optional(),
  workspace_id: z.string().nullable(),
});

const planRequested = z.strictObject({
  tool_id: id,
  summary: z.string(),
  plan: z.string(),
  input: z.looseObject({ summary: z.string(), plan: z.string() }),
});

const questionRequested = z.strictObject({
  tool_id: id,
  input: z.looseObject({
    questions: z.array(
      z.strictObject({
        question: z.string(),
        options: z.array(
          z.strictObject({
            label: z.string(),
            description: z.string().optional(),
            preview: z.string().optional(),
          }),
        ),
        header: z.string().optional(),
        id: z.string().optional(),
        multiSelect: z.boolean().nullish(),
      }),
    ),
  }),
});

const taskResult = z.strictObject({
  task_status: z.enum(['awaiting_input', 'errored']),
  message: z.string().optional(),
  message_label: z.string().optional(),
  message_timestamp: z.string().nullable(),
});

function notificationOf<Kind extends string, Payload extends z.ZodObject>(
  typeName: string,
  kind: Kind,
  payload: Payload,
) {
  return variant(typeName, {
    id,
    kind: z.literal(kind),
    status: notificationStatus,
    task,
    title: z.string(),
    payload,
    occurred_at: time,
    created_at: time,
    updated_at: time,
    dismissed_at: time.nullable(),
    resolved_at: time.nullable(),
    pr_url: z.string().nullable(),
    preview_text: z.string().nullable(),
    project_name: z.string().optional(),
    project_repo_url: z.string().nullable(),
  });
}

/** Notification (UserNotification) of the specification. */
const notification = z.discriminatedUnion('kind', [
  notificationOf('PlanRequestedNotification', 'plan_requested', planRequested),
  notificationOf('QuestionRequestedNotification', 'question_requested', questionRequested),
  notificationOf('TaskFailedNotification', 'task_failed', taskResult),
  notificationOf('TaskResponseReadyNotification', 'task_response_ready', taskResult),
]);

/** Reading and dismissing notifications. */
export const notifications = [
  route({
    method: 'post',
    path: '/user/notifications/{id}/dismiss',
    field: 'dismissNotification',
    bind: { input: { id: path('id') } },
    reply: { status: 200, name: 'notification', from: 'notification', shape: notification },
  }),
  route({
    method: 'get',
    path: '/user/notifications',
    field: 'notifications',
    bind: { status: query('status', notificationStatus), kind: query('kind', notificationKind) },
    paged: true,
    reply: { status: 200, name: 'notifications', from: 'nodes', shape: z.array(notification) },
  }),
];
