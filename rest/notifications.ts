import { z } from 'zod';
import { answerVias, planDecisions } from '../src/notifications/answers/answer.enums.ts';
import { answerNotificationField } from '../src/notifications/answers/answer-notification.graphql.ts';
import {
  dismissNotificationField,
  dismissNotificationsField,
} from '../src/notifications/dismiss-notifications.graphql.ts';
import {
  type NotificationKind,
  notificationKinds,
  notificationStatuses,
  taskStatuses,
} from '../src/notifications/notification.enums.ts';
import { notificationCountsField } from '../src/notifications/notification-counts.graphql.ts';
import { notificationField, notificationsField } from '../src/notifications/notifications.graphql.ts';
import { contentSizeNote, idSchema } from '../src/values/constraints.ts';
import { isId } from '../src/values/text.ts';
import { body, path, query, type Route } from './route.ts';
import { nullableText, optionalText, timestamp, toPascalCase, variant } from './wire.ts';

const text = () => z.string().min(1);

/** Kinds in the specification's order. */
export const notificationKind = z.enum(notificationKinds).meta({
  id: 'NotificationKind',
  description: 'The kind of a notification. It determines the type of the payload.',
});

const notificationStatus = z.enum(notificationStatuses).meta({
  id: 'NotificationStatus',
  description:
    "The status of a notification. `active`: the notification needs the user's attention. `resolved`: the " +
    'user answered, the request expired, the platform resolved the notification, or a later notification ' +
    'replaced it. `dismissed`: the user dismissed the notification.',
});

const task = z
  .strictObject({
    id: text().describe("The task's ID."),
    project_id: text().describe('The ID of the project that the task belongs to.'),
    name: optionalText("The task's name. Omitted if unknown."),
    workspace_id: nullableText('The ID of the workspace that the task runs in. `null` if unknown.'),
  })
  .meta({ id: 'NotificationTask', description: 'The task that a notification is about.' });

const option = z
  .strictObject({
    label: z.string().describe('The text of the answer.'),
    description: optionalText('An explanation of the answer.'),
    preview: optionalText('A preview of the result of choosing this answer.'),
  })
  .meta({ id: 'AskUserQuestionOption', description: 'An answer that the user can choose.' });

const question = z
  .strictObject({
    question: z.string().describe('The text of the question.'),
    options: z.array(option).describe('The answers to choose from.'),
    header: optionalText('A short heading.'),
    id: optionalText("The question's ID, not necessarily unique."),
    multiSelect: z.boolean().nullish().describe('Whether the user can choose several answers.'),
  })
  .meta({ id: 'AskUserQuestion', description: 'A question for the user.' });

const planRequested = z
  .strictObject({
    tool_id: text().describe('The ID of the tool call that asks the user.'),
    summary: z.string().describe('A summary of the plan, from `input`.'),
    plan: z.string().describe('The full plan, from `input`.'),
    input: z
      .looseObject({
        summary: z.string().describe('A summary of the plan.'),
        plan: z.string().describe('The full plan.'),
      })
      .describe("The tool call's complete input, including additional properties."),
  })
  .meta({ id: 'PlanRequestedPayload', description: 'A plan that the user is asked to approve.' });

const questionRequested = z
  .strictObject({
    tool_id: text().describe('The ID of the tool call that asks the user.'),
    input: z
      .looseObject({ questions: z.array(question).describe('The questions.') })
      .describe("The tool call's complete input, including additional properties."),
  })
  .meta({ id: 'QuestionRequestedPayload', description: 'Questions that the user is asked to answer.' });

const taskResult = z
  .strictObject({
    task_status: z
      .enum(taskStatuses)
      .describe(
        'The status of the task. `awaiting_input`: the task is waiting for input from the user. `errored`: the task ' +
          'stopped with an error.',
      ),
    message: optionalText('The response or the error message. Omitted if there is none.'),
    message_label: optionalText('A label for the message. Omitted if there is none.'),
    message_timestamp: nullableText(
      "Timestamp of the message, in the task's own format. `null` if there is none.",
    ),
  })
  .meta({
    id: 'TaskResultPayload',
    description: 'The result of a task that failed or produced a response.',
  });

function createVariant(kind: NotificationKind, whatTaskDid: string, payload: z.ZodObject) {
  const typeName = `${toPascalCase(kind)}Notification`;
  return variant(typeName, {
    id: text().describe("The notification's ID, unique among the user's notifications but not across users."),
    kind: z.literal(kind).describe("The notification's kind."),
    status: notificationStatus,
    task,
    title: z.string().describe('The title, one line of text.'),
    payload,
    occurred_at: timestamp.describe('Timestamp at which the event occurred in the task.'),
    created_at: timestamp.describe('Timestamp of publication. Lists are sorted by it.'),
    updated_at: timestamp.describe('Timestamp of the last change.'),
    dismissed_at: timestamp
      .nullable()
      .describe('Timestamp of the dismissal. `null` if the notification was not dismissed.'),
    resolved_at: timestamp
      .nullable()
      .describe('Timestamp of the resolution. `null` if the notification was never resolved.'),
    pr_url: nullableText("The URL of the task's pull request. `null` if there is none."),
    preview_text: nullableText('A short preview of the response or error message. `null` if there is none.'),
    project_name: optionalText("The project's name. Omitted if unknown."),
    project_repo_url: nullableText("The URL of the project's repository. `null` if unknown."),
  }).meta({ id: typeName, description: `The notification of a task that ${whatTaskDid}.` });
}

/** The `Notification` of the specification, and the union of the same name in GraphQL. */
const notification = z
  .discriminatedUnion('kind', [
    createVariant('plan_requested', 'asks the user to approve a plan', planRequested),
    createVariant('question_requested', 'asks the user questions', questionRequested),
    createVariant('task_failed', 'failed', taskResult),
    createVariant('task_response_ready', 'produced a response', taskResult),
  ])
  .meta({ id: 'Notification', description: 'A notification. Its kind determines its type.' });

const counts = z
  .strictObject({
    total: z.int().describe('The number of active notifications of all kinds.'),
    by_kind: z
      .array(
        z
          .strictObject({
            kind: notificationKind,
            count: z.int().describe('The number of active notifications.'),
          })
          .meta({
            id: 'NotificationKindCount',
            description: 'The number of active notifications of one kind.',
          }),
      )
      .describe('Counts by kind. Every kind is included, even if its count is 0.'),
  })
  .meta({ id: 'NotificationCounts', description: "Counts of a user's active notifications." });

const dismissedList = z
  .strictObject({
    dismissed_count: z
      .int()
      .describe(
        'The number of notifications that this request dismissed. Notifications that were dismissed before are not counted.',
      ),
    notifications: z
      .array(notification)
      .describe('The notifications that this request dismissed, oldest first.'),
  })
  .meta({
    id: 'DismissNotificationsReply',
    description: 'Response body of "Dismiss several notifications".',
  });

const planAnswer = {
  decision: z.enum(planDecisions).meta({
    id: 'PlanDecision',
    description:
      'What the user decides about the plan. `approve`: the task may carry it out. `request_changes`: the task should ' +
      'ask again with another plan. `reject`: the task must not carry it out.',
  }),
  feedback: z.string().nullable().describe('What the task should consider. `null` if nothing was given.'),
};

const questionAnswer = {
  index: z.int().describe('The index of the question, from 0.'),
  options: z.array(z.int()).describe('The indexes of the chosen options, from 0.'),
  other: z.string().nullable().describe('An answer that is not among the options. `null` if there is none.'),
};

const reply = z
  .strictObject({ text: z.string().describe('The reply. At most 10,000 characters.') })
  .meta({ id: 'ReplyAnswer', description: "A reply to the task's response." });

/** The `Answer` of GraphQL. */
const answer = z
  .strictObject({
    answer_id: nullableText(
      "The answer's ID, which the client generated. `null` if the request expired and had this default.",
    ),
    plan: z
      .strictObject(planAnswer)
      .meta({ id: 'PlanAnswer', description: 'A decision about a plan.' })
      .optional()
      .describe('The decision about a plan. Omitted for other requests.'),
    questions: z
      .array(
        z
          .strictObject({
            ...questionAnswer,
            question: z.string().describe('The text of the question.'),
            labels: z.array(z.string()).describe('The labels of the chosen options.'),
          })
          .meta({ id: 'QuestionAnswer', description: 'The answer to one question.' }),
      )
      .optional()
      .describe('The answers to all questions, in their order. Omitted for other requests.'),
    reply: reply.optional().describe("The reply to the task's response. Omitted for other requests."),
    by: nullableText('The ID of the user who answered. `null` for a default.'),
    via: z
      .enum(answerVias)
      .describe(
        'How the answer was given: over GraphQL, over REST, or by the default that the request had when it expired.',
      ),
    answered_at: timestamp.describe('Timestamp of the answer.'),
  })
  .meta({
    id: 'Answer',
    description: 'The answer to a request. Has exactly one of `plan`, `questions` and `reply`.',
  });

const settled = z.strictObject({
  state: z.enum(['answered', 'expired', 'withdrawn']),
  settled_at: timestamp,
  answer: answer.nullable(),
});

/** Reading, dismissing and answering notifications. */
export const notifications: readonly Route[] = [
  {
    method: 'post',
    path: '/user/notifications/{id}/dismiss',
    field: dismissNotificationField,
    tag: 'Notifications',
    summary: 'Dismiss a notification',
    description:
      'Dismisses a notification, whatever its status. Dismissing it again changes nothing, not even `updated_at`. The ' +
      'request body is ignored. The IDs `.` and `..` cannot be used in a path; dismiss those notifications with GraphQL.',
    bind: { input: { id: path('id', "The notification's ID.") } },
    reply: {
      name: 'notification',
      from: 'notification',
      shape: notification,
      description: 'The dismissed notification.',
    },
  },
  {
    method: 'get',
    path: '/user/notifications',
    field: notificationsField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'List notifications',
    description:
      "Returns the caller's notifications, newest first by `created_at`, then by `id` in descending order.",
    bind: {
      filter: {
        statuses: query(
          'status',
          notificationStatus,
          'Filter by status. Can be repeated. Defaults to all statuses.',
        ),
        kinds: query('kind', notificationKind, 'Filter by kind. Can be repeated. Defaults to all kinds.'),
      },
    },
    paged: { isId, pageSize: 20 },
    reply: {
      name: 'notifications',
      from: 'nodes',
      shape: z.array(notification),
      description: 'The notifications.',
    },
  },
  {
    method: 'get',
    path: '/user/notifications/{id}',
    field: notificationField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'Get a notification',
    description: "Returns one of the caller's notifications.",
    bind: { id: path('id', "The notification's ID.") },
    reply: { name: 'notification', shape: notification, description: 'The notification.' },
  },
  {
    method: 'get',
    path: '/user/notification-counts',
    field: notificationCountsField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'Count active notifications',
    description: "Returns the numbers of the caller's active notifications.",
    bind: {},
    reply: { shape: counts, description: 'The counts.' },
  },
  {
    method: 'post',
    path: '/user/notifications/dismiss',
    field: dismissNotificationsField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'Dismiss several notifications',
    description:
      "Dismisses notifications, whatever their status. Unknown IDs, IDs of other users' notifications and IDs of " +
      'dismissed notifications are ignored.',
    body: z
      .strictObject({
        ids: z
          .array(z.string().meta({ ...idSchema.meta() }))
          .min(1, 'must have at least 1 item')
          .max(100)
          .describe("The notifications' IDs, 1 to 100."),
      })
      .meta({ id: 'NotificationsDismissal', description: 'The notifications to dismiss.' }),
    bind: { input: { ids: body('ids') } },
    reply: { shape: dismissedList, description: 'The dismissed notifications.' },
  },
  {
    method: 'post',
    path: '/user/notifications/{id}/answer',
    field: answerNotificationField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'Answer a notification',
    description:
      'Answers the request of a notification, dismissed or not. The first answer settles the request. If it was settled ' +
      'before, the response is 409, and the `value` of its only item says how: `state` (`answered`, `expired` or `withdrawn`), ' +
      '`by`, `via`, `at` and `answer`. A retry with the same `answer_id` and content returns the stored answer; other ' +
      'content is 409 at `body.answer_id`.',
    body: z
      .strictObject({
        answer_id: z
          .string()
          .meta({ ...idSchema.meta() })
          .describe("The answer's ID, which the client generates, for example a UUID."),
        plan: z
          .strictObject({ ...planAnswer, feedback: planAnswer.feedback.optional() })
          .meta({ id: 'PlanAnswerInput', description: 'A decision about a plan.' })
          .optional()
          .describe('A decision, which answers a `plan_requested` notification.'),
        questions: z
          .array(
            z
              .strictObject({ ...questionAnswer, other: questionAnswer.other.optional() })
              .meta({ id: 'QuestionAnswerInput', description: 'The answer to one question.' }),
          )
          .max(50)
          .optional()
          .describe('Answers to all questions, which answer a `question_requested` notification.'),
        reply: reply
          .optional()
          .describe('A reply, which answers a `task_response_ready` notification whose task awaits input.'),
      })
      .meta({
        id: 'AnswerInput',
        description: `An answer: exactly one of \`plan\`, \`questions\` and \`reply\`. ${contentSizeNote}`,
      }),
    bind: {
      input: {
        id: path('id', "The notification's ID."),
        answerId: body('answer_id'),
        plan: body('plan'),
        questions: body('questions'),
        reply: body('reply'),
      },
    },
    reply: {
      name: 'answer',
      from: 'answer',
      shape: answer,
      description: 'The stored answer.',
      union: {
        type: 'AnswerStored',
        conflict: {
          type: 'AlreadySettled',
          shape: settled,
          message: 'The request was settled before.',
          toValue: (content) => {
            const { state, settled_at: settledAt, answer = null } = settled.strip().parse(content);
            return {
              state,
              by: answer?.by ?? null,
              via: answer?.via ?? null,
              at: answer?.answered_at ?? settledAt,
              answer,
            };
          },
        },
      },
    },
  },
];
