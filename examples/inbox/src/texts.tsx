import type { Answer, GatewayError, NotificationCard } from '@workspace-account/client';
import { useEffect, useState } from 'react';
import type { IconName } from './controls.tsx';

const KINDS: Readonly<Record<string, { name: string; icon: IconName; when: string }>> = {
  PLAN_REQUESTED: { name: 'Plan', icon: 'plan', when: 'A plan awaits approval' },
  QUESTION_REQUESTED: { name: 'Question', icon: 'question', when: 'A task has questions' },
  TASK_FAILED: { name: 'Failure', icon: 'alert', when: 'A task failed' },
  TASK_RESPONSE_READY: { name: 'Response', icon: 'message', when: 'A response is ready' },
};

/** Describes a kind of notification, also one that later versions of the gateway add. */
export const describeKind = (kind: string) =>
  KINDS[kind] ?? { name: 'Notification', icon: 'bell', when: toWords(kind) };

const DECISIONS = { APPROVE: 'Approved', REQUEST_CHANGES: 'Changes requested', REJECT: 'Rejected' };

/** An answer in a few words, such as "Approved". */
export const describeAnswer = ({ plan, reply }: Answer): string =>
  plan ? DECISIONS[plan.decision] : (reply?.text ?? 'Answered');

/** An answer with all that it says, such as "Changes requested: Smaller steps" or "Yes, deploy". */
export function describeWholeAnswer(answer: Answer): string {
  const { plan, questions } = answer;
  if (plan?.feedback) return `${describeAnswer(answer)}: ${plan.feedback}`;
  if (!questions) return describeAnswer(answer);
  const texts = questions.map(({ question, labels, other }) => ({
    question,
    text: [...labels, ...(other === null ? [] : [other])].join(', '),
  }));
  if (texts.length === 1) return texts.map(({ text }) => text).join();
  return texts.map(({ question, text }) => `${question} ${text}`).join('; ');
}

/** Where an answer was given. Who opened a link in a mail is not known. */
const surfaces = {
  GRAPHQL: 'in an app',
  REST: 'over the REST API',
  EMAIL: 'by link in a mail',
  CHAT: 'in the chat',
} as const;

/** Who answered, and how. */
export function describeAuthor({ by, via }: Answer): string {
  if (via === 'DEFAULT') return 'Automatically, when the time was up';
  return `By ${by ?? 'a user'} ${surfaces[via]}`;
}

/** The status of a notification in a few words, `undefined` while it is simply active. */
export function describeStatus({ status, resolution, request }: NotificationCard): string | undefined {
  if (request?.state === 'OPEN')
    return status === 'DISMISSED' ? 'Dismissed, still waiting' : 'Waiting for you';
  return status === 'ACTIVE' ? undefined : toWords(resolution ?? status);
}

const MESSAGES: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'Too many requests.',
  NETWORK_ERROR: 'The server cannot be reached.',
  INTERNAL_ERROR: 'The server has a problem.',
  NO_TOKEN: 'Your session cannot be continued.',
  UNAUTHENTICATED: 'Your session has ended. Sign in again.',
  ORG_MEMBERSHIP_REQUIRED: 'Only members of an organization have these settings.',
};

/** Why something failed. */
export const describeError = ({ code, message }: GatewayError): string => MESSAGES[code] ?? message;

/** Turns the name of an enum value into words: `NO_TARGET` into "No target". */
export function toWords(value: string): string {
  const words = value.replaceAll('_', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

/** Returns the current time in milliseconds, and renders again when it has passed by `everyMs`. */
function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

function formatRelative(seconds: number): string {
  const size = Math.abs(seconds);
  if (size < 45) return seconds > 5 ? 'in less than a minute' : 'just now';
  if (size < 45 * 60) return relative.format(Math.round(seconds / 60), 'minute');
  if (size < 22 * 3600) return relative.format(Math.round(seconds / 3600), 'hour');
  return relative.format(Math.round(seconds / 86_400), 'day');
}

type TimeProps = { at: string; isFuture?: boolean };

/** Shows a time relative to now, such as "5 minutes ago", and the exact time on hover. Clocks differ a little. */
export function Time({ at, isFuture = false }: TimeProps) {
  const time = Date.parse(at);
  const now = useNow(15_000);
  return (
    <time dateTime={at} title={absolute.format(time)}>
      {formatRelative(isFuture ? (time - now) / 1000 : Math.min(0, (time - now) / 1000))}
    </time>
  );
}

/** Counts down to a time in milliseconds, after a text. Screen readers do not read every second. */
export function Countdown({ text, until }: { text: string; until: number | undefined }) {
  const now = useNow(250);
  if (until === undefined) return null;
  return (
    <span aria-live="off">
      {text} {Math.max(0, Math.ceil((until - now) / 1000))} s.
    </span>
  );
}
