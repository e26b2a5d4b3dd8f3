import { builder, columnsOf, createRecordRef } from '../../graphql/builder.ts';
import { answerWeight } from '../../graphql/document-limits.ts';
import type { Time } from '../../values/time.ts';
import type { Notification } from '../notification.entity.ts';
import type { SelectedNotification } from '../notifications.ts';
import {
  type Answer,
  findAnswerTime,
  findRequestState,
  type PlanAnswer,
  type QuestionAnswer,
  type Receipt,
} from './answer.ts';
import {
  AnswerViaEnum,
  PlanDecisionEnum,
  ReceiptOutcomeEnum,
  RequestStateEnum,
} from './answer-enums.graphql.ts';

const PlanAnswerType = builder.objectRef<PlanAnswer>('PlanAnswer').implement({
  description: 'A decision about a plan.',
  fields: (t) => ({
    decision: t.expose('decision', { type: PlanDecisionEnum, description: 'The decision.' }),
    feedback: t.exposeString('feedback', {
      nullable: true,
      description: 'What the task should consider. `null` if nothing was given.',
    }),
  }),
});

const QuestionAnswerType = builder.objectRef<QuestionAnswer>('QuestionAnswer').implement({
  description: 'The answer to one question. Repeats the question and the labels of the chosen options.',
  fields: (t) => ({
    index: t.exposeInt('index', { description: 'The index of the question, from 0.' }),
    question: t.exposeString('question', { description: 'The text of the question.' }),
    options: t.field({
      type: ['Int'],
      description: 'The indexes of the chosen options, from 0.',
      resolve: ({ options }) => options,
    }),
    labels: t.field({
      type: ['String'],
      description: 'The labels of the chosen options, in the order of `options`.',
      resolve: ({ labels }) => labels,
    }),
    other: t.exposeString('other', {
      nullable: true,
      description: 'An answer that is not among the options. `null` if there is none.',
    }),
  }),
});

const ReplyType = builder.objectRef<{ text: string }>('ReplyAnswer').implement({
  description: 'A reply to the response of a task.',
  fields: (t) => ({ text: t.exposeString('text', { description: 'The reply.' }) }),
});

/** An answer, and when it was given. */
export type AnswerWithTime = Answer & { answeredAt: Time };

export const AnswerType = builder.objectRef<AnswerWithTime>('Answer').implement({
  description: 'The answer to a request. Exactly one of `plan`, `questions` and `reply` is set.',
  fields: (t) => ({
    answerId: t.exposeID('answerId', {
      nullable: true,
      description: "The answer's ID, which the client generated. `null` if `via` is `DEFAULT`.",
    }),
    plan: t.field({
      type: PlanAnswerType,
      nullable: true,
      description: 'The decision about a plan. `null` if the request was another.',
      resolve: (answer) => ('plan' in answer ? answer.plan : null),
    }),
    questions: t.field({
      type: [QuestionAnswerType],
      nullable: true,
      description: 'The answers to all questions, in their order. `null` if the request was another.',
      resolve: (answer) => ('questions' in answer ? answer.questions : null),
    }),
    reply: t.field({
      type: ReplyType,
      nullable: true,
      description: "The reply to the task's response. `null` if the request was another.",
      resolve: (answer) => ('reply' in answer ? answer.reply : null),
    }),
    by: t.exposeID('by', {
      nullable: true,
      description: 'The ID of the user who answered. `null` if `via` is `DEFAULT`.',
    }),
    via: t.expose('via', { type: AnswerViaEnum, description: 'How the answer was given.' }),
    answeredAt: t.expose('answeredAt', {
      type: 'DateTime',
      description: 'Timestamp of the answer. If `via` is `DEFAULT`, that of the expiry.',
    }),
  }),
});

const ReceiptType = builder.objectRef<Receipt>('AnswerReceipt').implement({
  description: 'What the task did with an answer.',
  fields: (t) => ({
    outcome: t.expose('outcome', {
      type: ReceiptOutcomeEnum,
      description: 'Whether the task could use the answer.',
    }),
    message: t.exposeString('message', {
      nullable: true,
      description: 'An explanation for the user. `null` if there is none.',
    }),
    at: t.expose('at', { type: 'DateTime', description: 'Timestamp of the receipt.' }),
  }),
});

/** Adds to an answer when it was given; null if there is none. */
export function withTime(
  answer: Answer | null,
  times: Pick<Notification, 'resolvedAt' | 'expiresAt'>,
): AnswerWithTime | null {
  if (answer === null) return null;
  const answeredAt = findAnswerTime(answer, times);
  if (answeredAt === null) throw new Error('An answer has no time.');
  return { ...answer, answeredAt };
}

const row = columnsOf<Notification, SelectedNotification>();

/** The request of a notification. */
export const RequestType = createRecordRef<SelectedNotification>('Request').implement({
  description: 'What a notification asks its user for.',
  fields: () => ({
    notificationId: row.exposeID('id', { description: "The notification's ID." }),
    userId: row.exposeID('userId', { description: 'The ID of the user who is asked.' }),
    state: row.from('requestState').field({
      type: RequestStateEnum,
      description:
        'The state. Independent of the status of the notification: a dismissal leaves a request open.',
      resolve: findRequestState,
    }),
    expiresAt: row.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Timestamp at which an open request expires. `null` if it does not. The state changes within seconds after it.',
    }),
    onExpiry: row.from('onExpiry', 'expiresAt', 'resolvedAt').field({
      type: AnswerType,
      extensions: answerWeight,
      nullable: true,
      description: 'The answer that the request has if it expires. `null` if it then has none.',
      resolve: ({ onExpiry, ...times }) => withTime(onExpiry, times),
    }),
    answer: row.from('answer', 'expiresAt', 'resolvedAt').field({
      type: AnswerType,
      extensions: answerWeight,
      nullable: true,
      description: 'The answer. `null` unless the state is `ANSWERED`.',
      resolve: ({ answer, ...times }) => withTime(answer, times),
    }),
    receipt: row.expose('receipt', {
      type: ReceiptType,
      nullable: true,
      description: 'What the task did with the answer. `null` as long as it has not said so.',
    }),
  }),
});

/** The field `request` of notifications. */
export const requestField = {
  type: RequestType,
  nullable: true,
  description:
    'What the notification asks its user for. `null` if it asks for nothing, and for notifications that were settled before version 0.3.0.',
  resolve: (notification: SelectedNotification) =>
    notification.requestState === 'none' ? null : notification,
} as const;
