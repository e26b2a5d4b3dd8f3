import type { Message } from '../../src/delivery/message.ts';
import type { AttemptOutcome } from '../../src/delivery/outcome.ts';

/** A message, as every channel sends it. */
export const message: Message = {
  userId: 'alice',
  notificationId: 'n-1',
  kind: 'plan_requested',
  title: 'Add a login page',
  request: 'A plan needs your approval.',
  details: '1. Add a form\n2. Test it',
  questions: [],
  taskName: 'Login',
  projectName: 'web-shop',
  occurredAt: '2026-05-04T10:00:00.000Z',
  expiresAt: '2026-05-05T10:00:00.000Z',
  url: 'https://app.example.com/inbox/n-1',
};

/** Formats all of an outcome: kind, reason, code or receipt, and what else it says. */
export function formatOutcome(outcome: AttemptOutcome): string {
  const { kind, reason, providerCode, receipt, retryAfterSeconds, ...flags }: Record<string, unknown> =
    outcome;
  const wait = retryAfterSeconds === undefined ? undefined : `after ${retryAfterSeconds} s`;
  const set = Object.keys(flags).filter((name) => flags[name]);
  return [kind, reason, providerCode, receipt, wait, ...set].filter((part) => part ?? false).join(' ');
}
