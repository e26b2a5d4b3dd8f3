import { builder, toEnumValues } from '../../graphql/builder.ts';
import {
  answerVias,
  planDecisions,
  type RequestState,
  receiptOutcomes,
  requestStates,
  supersedeScopes,
} from './answer.enums.ts';

const shownStates = requestStates.filter((state): state is RequestState => state !== 'none');

export const RequestStateEnum = builder.enumType('RequestState', {
  description: 'The state of a request. A state other than `OPEN` is final.',
  values: toEnumValues(shownStates, {
    open: 'The request waits for an answer.',
    answered: 'The request has an answer: the user gave it, or the request expired and had a default.',
    expired: 'The request expired without an answer. Nobody refused anything.',
    withdrawn:
      'The platform resolved the notification, or a later one superseded it, before there was an answer.',
  }),
});

export const PlanDecisionEnum = builder.enumType('PlanDecision', {
  description: 'What a user decides about a plan.',
  values: toEnumValues(planDecisions, {
    approve: 'The task may carry out the plan.',
    request_changes: 'The task should ask again with another plan.',
    reject: 'The task must not carry out the plan.',
  }),
});

export const AnswerViaEnum = builder.enumType('AnswerVia', {
  description: 'How an answer was given.',
  values: toEnumValues(answerVias, {
    graphql: 'By the user, over GraphQL.',
    rest: 'By the user, over REST.',
    email: 'By a link in a mail to the user. Who opened it is not known.',
    chat: "By the user's member in the chat.",
    default: 'By nobody: the request expired, and the platform had published this answer for that.',
  }),
});

export const ReceiptOutcomeEnum = builder.enumType('AnswerReceiptOutcome', {
  description: 'Whether the task could use an answer.',
  values: toEnumValues(receiptOutcomes, {
    accepted: 'The task took the answer.',
    refused: 'The task could not use the answer, for example because it had ended.',
  }),
});

export const SupersedeScopeEnum = builder.enumType('SupersedeScope', {
  description: 'Which earlier notifications of a task and kind a notification supersedes.',
  values: toEnumValues(supersedeScopes, {
    task_and_kind: 'All of them.',
    tool_call: 'Those of the same tool call that were published with this value too.',
    nothing: 'None, so that several can be open at once.',
  }),
});
