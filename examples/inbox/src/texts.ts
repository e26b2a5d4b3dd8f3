import type { Answer, GatewayError, NotificationCard } from '@workspace-account/client';
import type { IconName } from './controls.tsx';

type Kind = { name: string; icon: IconName; when: string };

const KINDS: Readonly<Record<string, Kind>> = {
  PLAN_REQUESTED: { name: 'Plan', icon: 'plan', when: 'A plan awaits approval' },
  QUESTION_REQUESTED: { name: 'Question', icon: 'question', when: 'A task has questions' },
  TASK_FAILED: { name: 'Failure', icon: 'alert', when: 'A task failed' },
  TASK_RESPONSE_READY: { name: 'Response', icon: 'message', when: 'A response is ready' },
};

/** Describes a kind of notification, also one that later versions of the gateway add. */
export const describeKind = (kind: string): Kind =>
  KINDS[kind] ?? { name: 'Notification', icon: 'bell', when: toWords(kind) };

const DECISIONS = { APPROVE: 'Approved', REQUEST_CHANGES: 'Changes requested', REJECT: 'Rejected' };

/** An answer in a few words, such as "Approved". */
export const describeAnswer = ({ plan, reply }: Answer): string =>
  plan ? DECISIONS[plan.decision] : (reply?.text ?? 'Answered');

/** Who answered, and how. */
export function describeAuthor({ by, via }: Answer): string {
  if (via === 'DEFAULT') return 'Automatically, when the time was up';
  return `By ${by ?? 'a user'} ${via === 'REST' ? 'over the REST API' : 'in an app'}`;
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
  UNAUTHENTICATED: 'Your session has ended. Sign in again.',
  NOT_FOUND: 'It does not exist any more.',
  ORG_MEMBERSHIP_REQUIRED: 'Only members of an organization have these settings.',
};

/** Why something failed. */
export const describeError = ({ code, message }: GatewayError): string => MESSAGES[code] ?? message;

/** Turns the name of an enum value into words: `NO_TARGET` into "No target". */
export function toWords(value: string): string {
  const words = value.replaceAll('_', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
