/**
 * The stored state of a request. `none` is stored for notifications that ask for nothing. A state other than `open` is
 * final.
 */
export const requestStates = ['none', 'open', 'answered', 'expired', 'withdrawn'] as const;
export type StoredRequestState = (typeof requestStates)[number];
export type RequestState = Exclude<StoredRequestState, 'none'>;

/** What a user decides about a plan. */
export const planDecisions = ['approve', 'request_changes', 'reject'] as const;
export type PlanDecision = (typeof planDecisions)[number];

/**
 * How an answer was given. `email`: by a link in a mail. `default`: the request expired, and its publisher had given an answer
 * for that.
 */
export const answerVias = ['graphql', 'rest', 'email', 'chat', 'default'] as const;
export type AnswerVia = (typeof answerVias)[number];

/** Whether the task could use an answer. */
export const receiptOutcomes = ['accepted', 'refused'] as const;
export type ReceiptOutcome = (typeof receiptOutcomes)[number];

/**
 * Which open requests and active notifications of a task and kind a publication supersedes: all, those of the same tool
 * call, or none.
 */
export const supersedeScopes = ['task_and_kind', 'tool_call', 'nothing'] as const;
export type SupersedeScope = (typeof supersedeScopes)[number];
