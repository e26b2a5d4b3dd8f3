import { z } from 'zod';
import { answerVias, planDecisions, receiptOutcomes } from '../src/notifications/answers/answer.enums.ts';
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
import {
  restoreNotificationField,
  restoreNotificationsField,
} from '../src/notifications/restore-notifications.graphql.ts';
import { contentSizeNote, idSchema } from '../src/values/constraints.ts';
import { isId } from '../src/values/text.ts';
import { body, path, query, type Route } from './route.ts';
import { besideRecord, nullableText, optionalText, timestamp, toPascalCase, variant } from './wire.ts';

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
    undo_token: nullableText(
      'Undoes this request, in "Restore several notifications". `null` if it dismissed none.',
    ),
  })
  .meta({
    id: 'DismissNotificationsReply',
    description: 'Response body of "Dismiss several notifications".',
  });

const restoredList = z
  .strictObject({
    restored_count: z.int().describe('The number of notifications that this request restored.'),
    notifications: z
      .array(notification)
      .describe('The notifications that this request restored, oldest first: at most 100.'),
  })
  .meta({
    id: 'RestoreNotificationsReply',
    description: 'Response body of "Restore several notifications".',
  });

const ids = z
  .array(z.string().meta({ ...idSchema.meta() }))
  .min(1, 'must have at least 1 item')
  .max(100)
  .describe("The notifications' IDs, 1 to 100.");

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
        'How the answer was given: over GraphQL, over REST, by a link in a mail, in the chat, or by the default that the request had when it expired.',
      ),
    answered_at: timestamp.describe('Timestamp of the answer.'),
  })
  .meta({
    id: 'Answer',
    description: 'The answer to a request. Has exactly one of `plan`, `questions` and `reply`.',
  });

const requestState = z.enum(['open', 'answered', 'expired', 'withdrawn']).meta({
  id: 'RequestState',
  description: 'The state of a request. A state other than `open` is final.',
});

/** The `Request` of GraphQL. */
const request = z
  .strictObject({
    state: requestState,
    expires_at: timestamp
      .nullable()
      .describe('Timestamp at which an open request expires. `null` if it does not.'),
    on_expiry: answer
      .nullable()
      .describe('The answer that the request has if it expires. `null` if it then has none.'),
    answer: answer.nullable().describe('The answer. `null` unless the state is `answered`.'),
    receipt: z
      .strictObject({
        outcome: z.enum(receiptOutcomes).describe('Whether the task could use the answer.'),
        message: nullableText('An explanation for the user. `null` if there is none.'),
        at: timestamp.describe('Timestamp of the receipt.'),
      })
      .meta({ id: 'AnswerReceipt', description: 'What the task did with the answer.' })
      .nullable()
      .describe('What the task did with the answer. `null` as long as it has not said so.'),
  })
  .meta({ id: 'Request', description: 'What a notification asks its user for.' });

const besideNotification = (request: z.ZodType) =>
  besideRecord('notification', 'UserNotification', { notification, request });

const withRequest = besideNotification(
  request.nullable().describe('What the notification asks its user for. `null` if it asks for nothing.'),
).meta({ id: 'NotificationReply', description: 'Response body of "Get a notification".' });

const requestOfUser = besideNotification(request.describe('What the notification asks its user for.')).meta({
  id: 'NotificationRequest',
  description: 'A notification that asks for an answer, and its request.',
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
        requestStates: query(
          'request_state',
          requestState,
          'Filter by the state of the request. Can be repeated. Defaults to all notifications, with or without a request.',
        ),
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
    path: '/user/requests',
    field: notificationsField,
    operationId: 'requests',
    tag: 'Notifications',
    isExtension: true,
    summary: 'List requests',
    description:
      "Returns the caller's notifications that ask for an answer, dismissed or not, each with its request. The order is that " +
      'of "List notifications".',
    bind: {
      filter: {
        requestStates: query(
          'state',
          requestState,
          'Filter by the state of the request. Can be repeated. Defaults to all states.',
          requestState.options,
        ),
      },
    },
    paged: { isId, pageSize: 6 },
    reply: { name: 'requests', from: 'nodes', shape: z.array(requestOfUser), description: 'The requests.' },
  },
  {
    method: 'get',
    path: '/user/notifications/{id}',
    field: notificationField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'Get a notification',
    description: "Returns one of the caller's notifications and, beside it, its request.",
    bind: { id: path('id', "The notification's ID.") },
    reply: { shape: withRequest, description: 'The notification and its request.' },
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
      .strictObject({ ids })
      .meta({ id: 'NotificationsDismissal', description: 'The notifications to dismiss.' }),
    bind: { input: { ids: body('ids') } },
    reply: { shape: dismissedList, description: 'The dismissed notifications.' },
  },
  {
    method: 'post',
    path: '/user/notifications/{id}/restore',
    field: restoreNotificationField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'Restore a notification',
    description:
      'Undoes the dismissal of a notification. It is active again, unless it was resolved, or a later notification of its ' +
      'task and kind has taken its place meanwhile; it is then resolved. If it is not dismissed, nothing changes.',
    bind: { input: { id: path('id', "The notification's ID.") } },
    reply: {
      name: 'notification',
      from: 'notification',
      shape: notification,
      description: 'The restored notification.',
    },
  },
  {
    method: 'post',
    path: '/user/notifications/restore',
    field: restoreNotificationsField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'Restore several notifications',
    description:
      'Undoes dismissals, each as "Restore a notification" does. Unknown IDs, IDs of other users\' notifications and IDs of ' +
      'notifications that are not dismissed are ignored. If a request with `undo_token` fails, it may have restored some ' +
      'notifications, and the same request restores the others.',
    body: z
      .strictObject({
        ids: ids.optional(),
        undo_token: optionalText(
          'The `undo_token` of "Dismiss several notifications", or of `dismissNotifications` in GraphQL, for all that it dismissed.',
        ),
      })
      .meta({
        id: 'NotificationsRestoration',
        description: 'The notifications to restore: exactly one of `ids` and `undo_token`.',
      }),
    bind: { input: { ids: body('ids'), undoToken: body('undo_token') } },
    reply: { shape: restoredList, description: 'The restored notifications.' },
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
