import type { NotificationKind, TaskStatus } from './notification.enums.ts';

/** JSON that came from outside and goes back as it came. */
export type JsonObject = { readonly [key: string]: unknown };

/** A plan's approval is asked for; `input` holds at least `summary` and `plan`. */
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

/** Questions are asked; `input` holds at least `questions`. */
export type QuestionRequestedPayload = {
  toolId: string;
  input: JsonObject & { questions: AskUserQuestion[] };
};

/** A task failed or has an answer. */
export type TaskResultPayload = {
  taskStatus: TaskStatus;
  message: string | null;
  messageLabel: string | null;
  messageTimestamp: string | null;
};

/** What the kind of a notification adds, as it is stored. */
export type NotificationPayload = PlanRequestedPayload | QuestionRequestedPayload | TaskResultPayload;

/** Which payload a kind has. */
export type PayloadByKind = {
  plan_requested: PlanRequestedPayload;
  question_requested: QuestionRequestedPayload;
  task_failed: TaskResultPayload;
  task_response_ready: TaskResultPayload;
};

/** A kind with a payload of its shape. */
export type NotificationContent = {
  [Kind in NotificationKind]: { kind: Kind; payload: PayloadByKind[Kind] };
}[NotificationKind];

/**
 * The payload of a notification known to be of a kind.
 * @throws {Error} where it is of another
 */
export function requirePayload<Kind extends NotificationKind>(
  notification: Kinded,
  kind: Kind,
): PayloadByKind[Kind] {
  if (hasKind(notification, kind)) return notification.payload;
  throw new Error(`The notification is not of the kind "${kind}".`);
}

type Kinded = { kind: NotificationKind; payload: NotificationPayload };

function hasKind<Kind extends NotificationKind>(
  notification: Kinded,
  kind: Kind,
): notification is { kind: Kind; payload: PayloadByKind[Kind] } {
  return notification.kind === kind;
}
