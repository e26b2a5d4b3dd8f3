import { ConflictError } from '../errors/gateway-errors.ts';
import { addMilliseconds, type Time } from '../values/time.ts';
import { isSent } from './channel-decision.ts';
import type { State } from './lifecycle.ts';
import type { taskSkipReasons } from './notification.enums.ts';

/*
 * What a task may use of its user's inbox by task tokens. Code in a workspace is not checked, so all of it is limited:
 * the stored notifications, the open requests, and the messages. The notifications that the platform publishes for the
 * task do not count.
 */

/** The maximum number of stored notifications. */
const MAX_STORED = 200;

/** The maximum number of open requests. */
const MAX_OPEN = 20;

/** The maximum number of notifications of a sort that are sent over channels, and the reason if there are more. */
const sentPerHour = {
  notifications: { max: 12, reason: 'task_notifications_per_hour' },
  requests: { max: 30, reason: 'task_requests_per_hour' },
} as const;

const HOUR_MS = 3_600_000;

/** The maximum sizes as JSON in bytes: of a notification, and of a payload that asks for no answer. */
export const MAX_BYTES = { draft: 72 * 1024, payload: 16 * 1024 };

/** What a task may do with another notification. */
export type Budget = {
  /** The IDs of those that are removed to make room, the first settled ones first. */
  removed: string[];
  /** Why the notification is delivered over no channel. */
  reason: (typeof taskSkipReasons)[number] | undefined;
};

const isRequest = ({ requestState }: State) => requestState !== 'none';

/**
 * Whether a notification is removed if there is no room. What was sent within the hour stays, because the limits of messages
 * count it. So does a request that was settled within the hour: the user may still see it as open, and must not answer
 * another one that takes its ID. One that has an answer always stays.
 */
function isRemovable(one: State, hourAgo: Time): boolean {
  if (!isRequest(one)) return one.status !== 'active' && !isRecent(one, hourAgo);
  const hasNoAnswer = one.requestState === 'expired' || one.requestState === 'withdrawn';
  return hasNoAnswer && one.resolvedAt !== null && one.resolvedAt <= hourAgo;
}

/** Whether it was sent within the hour. */
const isRecent = ({ createdAt, skippedChannels }: State, hourAgo: Time): boolean =>
  createdAt > hourAgo && isSent(skippedChannels);

/**
 * Decides about another notification of a task.
 * @param own the notifications of the task that task tokens published
 * @param open the number of open requests of the task that the notification does not supersede
 * @throws {ConflictError} if the task has used up its budget
 */
export function spendBudget(own: readonly State[], open: number, asks: boolean, at: Time): Budget {
  const hourAgo = addMilliseconds(at, -HOUR_MS);
  const removable = own.filter((one) => isRemovable(one, hourAgo));
  if (own.length - removable.length >= MAX_STORED) {
    const message = `The task has ${MAX_STORED} notifications, which is the maximum, and none that may be removed. Open, active and answered ones stay, the others for an hour.`;
    throw new ConflictError('LIMIT_REACHED', message);
  }
  if (asks && open >= MAX_OPEN) {
    const message = `The task has ${MAX_OPEN} open requests, which is the maximum. Withdraw one, or wait for answers.`;
    throw new ConflictError('LIMIT_REACHED', message);
  }
  const removed = removable
    .toSorted((one, other) => (one.updatedAt < other.updatedAt ? -1 : 1))
    .slice(0, Math.max(0, own.length + 1 - MAX_STORED))
    .map(({ id }) => id);
  const { max, reason } = asks ? sentPerHour.requests : sentPerHour.notifications;
  const sent = own.filter((one) => isRequest(one) === asks && isRecent(one, hourAgo)).length;
  return { removed, reason: sent >= max ? reason : undefined };
}
