import type { NotificationKind, TaskStatus } from './notification.enums.ts';

/** A JSON object that is stored and returned unchanged. */
export type JsonObject = { readonly [key: string]: unknown };

/** A request to approve a plan. `input` has at least `summary` and `plan`. */
export type PlanRequestedPayload = {
  toolId: string;
  input: JsonObject & { summary: string; plan: string };
};

export type AskUserQuestionOption = {
  label: string;
  description?: string | undefined;
  preview?: string | undefined;
};

export type AskUserQuestion = {
  question: string;
  options: AskUserQuestionOption[];
  header?: string | undefined;
  id?: string | undefined;
  multiSelect?: boolean | null | undefined;
};

/** The maximum numbers of questions, and of options of each: far above real requests. */
export const MAX_QUESTIONS = 50;
export const MAX_OPTIONS = 50;

/** Questions to the user. `input` has at least `questions`. */
export type QuestionRequestedPayload = {
  toolId: string;
  input: JsonObject & { questions: AskUserQuestion[] };
};

/** The result of a task that failed or produced a response. */
export type TaskResultPayload = {
  taskStatus: TaskStatus;
  message: string | null;
  messageLabel: string | null;
  messageTimestamp: string | null;
};

/** The payload of a notification, as it is stored. */
export type NotificationPayload = PlanRequestedPayload | QuestionRequestedPayload | TaskResultPayload;

/** The payload of each kind. */
export type PayloadByKind = {
  plan_requested: PlanRequestedPayload;
  question_requested: QuestionRequestedPayload;
  task_failed: TaskResultPayload;
  task_response_ready: TaskResultPayload;
};

/** A kind with its payload. */
export type NotificationContent = {
  [Kind in NotificationKind]: { kind: Kind; payload: PayloadByKind[Kind] };
}[NotificationKind];

/**
 * Returns the payload of a notification of the given kind.
 * @throws {Error} if the notification is of another kind
 */
export function requirePayload<Kind extends NotificationKind>(
  notification: WithPayload,
  kind: Kind,
): PayloadByKind[Kind] {
  if (hasKind(notification, kind)) return notification.payload;
  throw new Error(`The notification is not of the kind "${kind}".`);
}

type WithPayload = { kind: NotificationKind; payload: NotificationPayload };

function hasKind<Kind extends NotificationKind>(
  notification: WithPayload,
  kind: Kind,
): notification is { kind: Kind; payload: PayloadByKind[Kind] } {
  return notification.kind === kind;
}
