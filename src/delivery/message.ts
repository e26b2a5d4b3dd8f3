import { hash } from 'node:crypto';
import type { Notification } from '../notifications/notification.entity.ts';
import type { NotificationKind } from '../notifications/notification.enums.ts';
import { type AskUserQuestionOption, requirePayload } from '../notifications/payload.ts';
import { toLine, truncate } from '../values/text.ts';
import type { Time } from '../values/time.ts';
import type { Claim } from './claim.ts';

/** The text of a notification, as all channels send it. Plain text without formatting; each channel escapes it. */
export type Message = {
  readonly userId: string;
  readonly notificationId: string;
  readonly kind: NotificationKind;
  /** One line. */
  readonly title: string;
  /** What happened or what the user must do, in one sentence: "A plan needs your approval." */
  readonly request: string;
  /**
   * The summary of the plan, the questions, the preview or the message; null if it is empty. May have several lines.
   */
  readonly details: string | null;
  /** The questions with their options, which only email lists; empty if the user is asked none. */
  readonly questions: readonly MessageQuestion[];
  /** One line, as is the project: its name, or else its ID. */
  readonly task: string;
  readonly project: string;
  readonly occurredAt: Time;
  /** No provider should deliver the message after this time. */
  readonly expiresAt: Time;
  /** Where the user reads the notification; null if APP_URL is not set. */
  readonly url: string | null;
};

/** A question, and the beginning of its options, one line each: "Half up: What the invoices print". */
export type MessageQuestion = {
  readonly question: string;
  readonly options: readonly string[];
  /** The number of options that are not listed. */
  readonly omitted: number;
};

/**
 * Returns a hash of the key of the notification, base64url. It is the same for all attempts, so that providers recognize
 * a repeated message.
 */
export function hashMessageKey({ userId, notificationId }: Message): string {
  return hash('sha256', JSON.stringify([userId, notificationId]), 'base64url');
}

/** Longer details are truncated: the web app shows the rest. */
const MAX_DETAILS = 3000;

/** Limits of the listed questions: their number, that of options of each, and lengths in UTF-16 code units. */
const MAX_LISTED = { questions: 10, options: 10, question: 1000, label: 100, description: 300 };

/** What a message says of its notification. */
type Described = Pick<
  Notification,
  | 'kind'
  | 'title'
  | 'payload'
  | 'occurredAt'
  | 'taskId'
  | 'taskName'
  | 'projectId'
  | 'projectName'
  | 'previewText'
  | 'byTask'
>;

/**
 * Creates the message of a delivery. In the text of a task token, links are broken up: code that nobody checked must not
 * send its user links in the name of the platform.
 */
export function describeMessage(claim: Claim, notification: Described, appUrl: string | null): Message {
  const { kind, title, payload, occurredAt, byTask, taskId, taskName, projectId, projectName } = notification;
  const { request, details } = summarize({ kind, payload }, notification.previewText);
  const show = byTask ? breakLinks : (text: string) => text;
  return {
    userId: claim.userId,
    notificationId: claim.notificationId,
    kind,
    title: show(toLine(title)),
    request,
    details: details ? truncate(show(details), MAX_DETAILS) : null,
    questions: listQuestions({ kind, payload }, show),
    task: show(toLine(taskName ?? taskId)),
    project: show(toLine(projectName ?? projectId)),
    occurredAt,
    expiresAt: claim.expiresAt,
    url: appUrl && linkTo(appUrl, claim.notificationId),
  };
}

/**
 * Returns the page of a notification. URL parsers resolve the IDs `.` and `..` as parts of a path, however they are escaped:
 * they have no link.
 */
export function linkTo(appUrl: string, id: string): string | null {
  return id === '.' || id === '..' ? null : appUrl.replace('{id}', () => encodeURIComponent(id));
}

type Content = Parameters<typeof requirePayload>[0];

function listQuestions(content: Content, show: (text: string) => string): MessageQuestion[] {
  if (content.kind !== 'question_requested') return [];
  const { questions } = requirePayload(content, 'question_requested').input;
  return questions.slice(0, MAX_LISTED.questions).map(({ question, options }) => ({
    question: truncate(show(question), MAX_LISTED.question),
    options: options.slice(0, MAX_LISTED.options).map((option) => show(describeOption(option))),
    omitted: Math.max(0, options.length - MAX_LISTED.options),
  }));
}

function describeOption({ label, description = '' }: AskUserQuestionOption): string {
  return [truncate(toLine(label), MAX_LISTED.label), truncate(toLine(description), MAX_LISTED.description)]
    .filter((part) => part !== '')
    .join(': ');
}

/** Returns a sentence about what happened or what the user must do, and the details. */
function summarize(
  content: Content,
  previewText: string | null,
): { request: string; details: string | null } {
  switch (content.kind) {
    case 'plan_requested': {
      const { summary } = requirePayload(content, 'plan_requested').input;
      return { request: 'A plan needs your approval.', details: summary };
    }
    case 'question_requested': {
      const { questions } = requirePayload(content, 'question_requested').input;
      const request =
        questions.length > 1
          ? `${questions.length} questions need your answers.`
          : 'A question needs your answer.';
      return { request, details: questions.map(({ question }) => question).join('\n') };
    }
    case 'task_failed': {
      const { message } = requirePayload(content, 'task_failed');
      return { request: 'The task failed.', details: previewText || message };
    }
    case 'task_response_ready': {
      const { message } = requirePayload(content, 'task_response_ready');
      return { request: 'The task produced a response.', details: previewText || message };
    }
  }
}

/**
 * What mail programs and chats recognize in plain text as a link:
 *
 * - a dot before a letter, as in `example.com`, `www.example`, `a@example.com`, and in the name of a file whose ending is
 *   also a top-level domain. Browsers read the ideographic full stops as dots, and ignore invisible characters (Unicode,
 *   UTS #46). No top-level domain begins with a digit, so versions such as 1.2.3 stay.
 * - the dot in the middle of an IPv4 address
 * - the colon after a scheme, as in `mailto:` or `tel:`
 * - two slashes before a host, as in `https://` and in a Windows network path, `\\server`
 */
const LINK =
  /(?<=\S)[.\u3002\uff0e\uff61](?=[^\s\p{Nd}\p{P}])|(?<=www)\.(?=\S)|(?<=\d\.\d+)\.(?=\d+\.\d)|(?<=[^\s\p{Nd}]):(?=\S)|[/\\]{2,}(?=\S)/giu;

/** Breaks up links in text by spaces, which end a link in every client: `https: // example. com/a`. */
export function breakLinks(text: string): string {
  return text.replace(LINK, '$& ');
}
