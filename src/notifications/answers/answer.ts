import { isDeepStrictEqual } from 'node:util';
import { ValidationError } from '../../errors/gateway-errors.ts';
import type { Path, ValidationIssue } from '../../errors/issue.ts';
import { findExcess } from '../../values/constraints.ts';
import { isWithinLength } from '../../values/text.ts';
import type { Time } from '../../values/time.ts';
import type { NotificationKind } from '../notification.enums.ts';
import type { AskUserQuestion, NotificationPayload } from '../payload.ts';
import { requirePayload } from '../payload.ts';
import type {
  AnswerVia,
  PlanDecision,
  ReceiptOutcome,
  RequestState,
  StoredRequestState,
} from './answer.enums.ts';

/** What a user decides about a plan. */
export type PlanAnswer = { decision: PlanDecision; feedback: string | null };

/** The chosen options of a question, by index, and a text of the user's own. */
export type GivenQuestion = { index: number; options: readonly number[]; other: string | null };

/** A user's answer, as it is given: exactly one of the three. */
export type GivenAnswer =
  | { plan: PlanAnswer }
  | { questions: readonly GivenQuestion[] }
  | { reply: { text: string } };

/** An answered question. Repeats the question and the labels of the chosen options. */
export type QuestionAnswer = GivenQuestion & { question: string; labels: readonly string[] };

/** The content of an answer to a request. */
export type AnswerContent =
  | { plan: PlanAnswer }
  | { questions: readonly QuestionAnswer[] }
  | { reply: { text: string } };

/** An answer, as it is stored. `answerId` and `by` are null if the request's default was taken. */
export type Answer = AnswerContent & { answerId: string | null; by: string | null; via: AnswerVia };

/** Whether the task could use the answer, and why not. */
export type Receipt = { outcome: ReceiptOutcome; message: string | null; at: Time };

/** The maximum length of each text of an answer. */
export const MAX_ANSWER_CHARACTERS = 10_000;

/** A notification that may be a request. */
type Requested = { kind: NotificationKind; payload: NotificationPayload };

/** Whether a notification of this kind and payload asks its user for an answer. */
export function asksUser({ kind, payload }: Requested): boolean {
  if (kind !== 'task_response_ready') return kind !== 'task_failed';
  return requirePayload({ kind, payload }, kind).taskStatus === 'awaiting_input';
}

/**
 * Checks an answer against its request, and adds the text of questions and chosen options.
 * @param path the path of the object whose members are `plan`, `questions` and `reply`
 * @throws {ValidationError} if the answer does not fit the request
 */
export function toAnswerContent(request: Requested, given: GivenAnswer, path: Path): AnswerContent {
  const { content, issues } = checkAnswer(request, given, path);
  if (issues.length > 0 || content === undefined) throw new ValidationError(issues);
  return content;
}

/** Whether two answers have the same content. The order of questions and options does not matter. */
export function isSameContent(stored: AnswerContent, given: GivenAnswer): boolean {
  return isDeepStrictEqual(normalize(stored), normalize(given));
}

/** Returns the message for an answer of which the given part is too large. */
export function findAnswerExcess(answer: GivenAnswer): string | undefined {
  return findExcess(normalize(answer));
}

function normalize(answer: GivenAnswer): unknown {
  if (!('questions' in answer)) return 'plan' in answer ? { ...answer.plan } : { ...answer.reply };
  return answer.questions
    .map(({ index, options, other }) => ({ index, options: options.toSorted((a, b) => a - b), other }))
    .toSorted((a, b) => a.index - b.index);
}

type Checked = { content?: AnswerContent; issues: ValidationIssue[] };

/** The member of an answer that fits each kind. */
const memberOf = {
  plan_requested: 'plan',
  question_requested: 'questions',
  task_failed: undefined,
  task_response_ready: 'reply',
} as const satisfies Record<NotificationKind, 'plan' | 'questions' | 'reply' | undefined>;

function checkAnswer(request: Requested, given: GivenAnswer, path: Path): Checked {
  const member = asksUser(request) ? memberOf[request.kind] : undefined;
  const name = Object.keys(given)[0] ?? '';
  if (member === undefined)
    return { issues: [{ path, message: 'the notification asks for no answer', value: given }] };
  if (name !== member) {
    const message = `does not fit the request, which needs ${member}`;
    return { issues: [{ path: [...path, name], message, value: Reflect.get(given, name) }] };
  }
  if ('plan' in given) {
    const { plan } = given;
    return { content: { plan }, issues: checkText(plan.feedback, [...path, 'plan', 'feedback']) };
  }
  if ('reply' in given) {
    const { text } = given.reply;
    return { content: { reply: { text } }, issues: checkGivenText(text, [...path, 'reply', 'text']) };
  }
  const { questions } = requirePayload(request, 'question_requested').input;
  return checkQuestions(questions, given.questions, [...path, 'questions']);
}

function checkQuestions(
  asked: readonly AskUserQuestion[],
  given: readonly GivenQuestion[],
  path: Path,
): Checked {
  const seen = new Set<number>();
  const issues: ValidationIssue[] = [];
  const answers = given.flatMap((answer, position): QuestionAnswer[] => {
    const { index } = answer;
    const question = asked[index];
    const at = [...path, position];
    if (question === undefined) {
      const message = `is not the index of a question; there are ${asked.length}`;
      issues.push({ path: [...at, 'index'], message, value: index });
      return [];
    }
    if (seen.has(index)) issues.push({ path: [...at, 'index'], message: 'is repeated', value: index });
    seen.add(index);
    issues.push(...checkQuestion(question, answer, at));
    const labels = answer.options.map((option) => question.options[option]?.label ?? '');
    return [{ ...answer, question: question.question, labels }];
  });
  const missing = [...asked.keys()].filter((index) => !seen.has(index));
  if (missing.length > 0) {
    const message = `must answer every question; index ${missing.join(', ')} is left out`;
    issues.push({ path, message, value: given });
  }
  return { content: { questions: answers.toSorted((a, b) => a.index - b.index) }, issues };
}

function checkQuestion(
  { options: offered, multiSelect }: AskUserQuestion,
  { options, other }: GivenQuestion,
  path: Path,
): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  for (const [position, option] of options.entries()) {
    const at = [...path, 'options', position];
    if (offered[option] === undefined) {
      const message = `is not the index of an option; there are ${offered.length}`;
      issues.push({ path: at, message, value: option });
    } else if (options.indexOf(option) < position)
      issues.push({ path: at, message: 'is repeated', value: option });
  }
  if (!multiSelect && options.length > 1) {
    issues.push({ path: [...path, 'options'], message: 'must have at most 1 item', value: options });
  }
  if (!multiSelect && options.length > 0 && other !== null) {
    issues.push({ path: [...path, 'other'], message: 'must not be combined with an option', value: other });
  }
  if (other !== null) issues.push(...checkGivenText(other, [...path, 'other']));
  else if (options.length === 0) {
    issues.push({
      path: [...path, 'options'],
      message: 'must have an item unless other is given',
      value: options,
    });
  }
  return issues;
}

function checkGivenText(text: string, path: Path): ValidationIssue[] {
  return text.trim() === '' ? [{ path, message: 'must not be blank', value: text }] : checkText(text, path);
}

function checkText(text: string | null, path: Path): ValidationIssue[] {
  if (text === null || isWithinLength(text, MAX_ANSWER_CHARACTERS)) return [];
  const message = `must have at most ${MAX_ANSWER_CHARACTERS.toLocaleString('en')} characters`;
  return [{ path, message, value: text }];
}

/** When an answer was given, as it is shown. The default of a request is its answer from the moment of its expiry. */
export function findAnswerTime(
  answer: Answer,
  { resolvedAt, expiresAt }: { resolvedAt: Time | null; expiresAt: Time | null },
): Time | null {
  return answer.via === 'default' ? expiresAt : resolvedAt;
}

/** Returns the state of a notification's request. @throws {Error} if the notification is not a request */
export function findRequestState({ requestState }: { requestState: StoredRequestState }): RequestState {
  if (requestState === 'none') throw new Error('The notification is not a request.');
  return requestState;
}
