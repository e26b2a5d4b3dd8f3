import { isDeepStrictEqual } from 'node:util';
import { ConflictError } from '../errors/gateway-errors.ts';
import type { Path } from '../errors/issue.ts';
import { type DeliveryChannel, deliveryChannels } from '../values/delivery-channel.enums.ts';
import { addMilliseconds, latest, type Time } from '../values/time.ts';
import { decideChannels, mayQueue, type Reach } from './channel-decision.ts';
import {
  applyPatch,
  type Event,
  expire,
  isUnsettled,
  type Moment,
  type Patch,
  type State,
  settleInOrder,
  toChanges,
  toState,
  withdraw,
} from './lifecycle.ts';
import type { Notification } from './notification.entity.ts';
import type { Resolution } from './notification.enums.ts';
import { draftContent, type NotificationDraft } from './notification-draft.ts';
import { defaultChannels, isChannelEnabled } from './preferences/channels.ts';
import { spendBudget } from './task-budget.ts';

/** How long after its publication, or after a manual retry, a message may be sent. */
export const LIFETIME_MS = 86_400_000;

/** A draft with its ID, and how it relates to others. */
export type Draft = Omit<NotificationDraft, 'id' | 'supersedes' | 'onExpiry'> & {
  userId: string;
  id: string;
  /** The slot in which at most one notification is active, and which orders notifications in time. */
  slot: string;
  /** Whether it supersedes notifications in every slot of its task and kind, or only in its own. */
  everySlot: boolean;
  toolId: string | null;
  /** Whether it asks the user for an answer. */
  asks: boolean;
  /** The answer as it is stored if the request expires. */
  onExpiry: Notification['onExpiry'];
  byTask: boolean;
  /** The draft as it is given, and its path in the arguments. */
  given: NotificationDraft;
  path: Path;
};

/** What publishing a draft depends on. */
export type Known = {
  /** The unsettled notifications that it may supersede; for a task token also its own, and the open ones of its task. */
  states: readonly State[];
  /** The stored notification with its ID. */
  same: Notification | undefined;
  /** The newest `occurredAt` of its slot. */
  newest: Time | null;
  /** Up to when the notifications of its task and kind are resolved, even if they arrive later. */
  mark: { resolvedUpTo: Time; resolution: Resolution } | null;
  reach: Reach;
  providers: ReadonlySet<DeliveryChannel>;
  emailDelayMs: number;
};

/** A delivery to queue. */
export type QueuedDelivery = {
  userId: string;
  notificationId: string;
  channel: DeliveryChannel;
  target: string;
  provider: string;
  state: 'pending';
  dueAt: Time;
  firstDueAt: Time;
  expiresAt: Time;
  createdAt: Time;
  updatedAt: Time;
};

/** What a publication stores, and the notification then. */
export type Publishing = {
  notification: Notification;
  /** Whether it was not stored before. */
  created: boolean;
  removed: readonly string[];
  patches: readonly Patch[];
  events: readonly Event[];
  deliveries: readonly QueuedDelivery[];
};

/**
 * Publishes a draft. It supersedes the active notifications of its task and kind, or of its slot, that occurred up to it,
 * and withdraws their open requests. It supersedes none and is itself stored as resolved if a notification of its slot
 * occurred later, or if it occurred up to the mark of its task and kind.
 * @throws {ConflictError} if its ID is taken by other content, or its task has used up its budget
 */
export function publish(known: Known, draft: Draft, { at, revision }: Moment): Publishing {
  if (known.same !== undefined) return repeat(known, draft, known.same, { at, revision });
  const { arrival, occurredAt, time, superseded } = arrive(known, draft, at);
  const steps = settleInOrder(superseded, { at: time, revision }, (state, moment) =>
    withdraw(state, moment, 'superseded'),
  );
  const { patches, events } = toChanges(steps);
  const { removed, reason } = draft.byTask
    ? spendBudget(
        known.states.filter((state) => state.byTask && state.taskId === draft.taskId),
        countOpen(known.states, draft.taskId) - countOpen(superseded, draft.taskId),
        draft.asks,
        at,
      )
    : { removed: [], reason: undefined };
  const { path: _path, given: _given, asks, everySlot: _scope, ...content } = draft;
  const notification: Notification = {
    ...content,
    occurredAt,
    revision: revision + patches.length,
    status: arrival === null ? 'active' : 'resolved',
    resolution: arrival,
    skippedChannels: decideChannels(known.reach, known.providers, reason),
    createdAt: time,
    updatedAt: time,
    resolvedAt: arrival === null ? null : time,
    dismissedAt: null,
    requestState: findRequestState(asks, arrival),
    expiresAt:
      draft.expiresInSeconds === null ? draft.expiresAt : addMilliseconds(at, draft.expiresInSeconds * 1000),
    answer: null,
    receipt: null,
  };
  if (notification.requestState === 'withdrawn') {
    events.push({ type: 'notification.withdrawn', notificationId: draft.id, taskId: draft.taskId });
  }
  const deliveries = queueDeliveries(known, notification, at);
  return { notification, created: true, removed, patches, events, deliveries };
}

/** Decides how a draft arrives: as active, or resolved for a reason; when it occurred; and which others it supersedes. */
export function arrive(
  known: Pick<Known, 'states' | 'newest' | 'mark'>,
  draft: Pick<Draft, 'taskId' | 'kind' | 'slot' | 'everySlot' | 'occurredAt'>,
  at: Time,
) {
  const others = known.states.filter(
    (state) =>
      state.taskId === draft.taskId &&
      state.kind === draft.kind &&
      isUnsettled(state) &&
      (draft.everySlot || state.slot === draft.slot),
  );
  const occurredAt = draft.occurredAt ?? latest(at, known.newest, ...others.map((other) => other.occurredAt));
  const arrival = findArrival(known, occurredAt);
  return {
    arrival,
    occurredAt,
    // The others may have been changed by a faster clock.
    time: latest(at, ...others.map(({ updatedAt }) => updatedAt)),
    superseded: arrival === null ? others.filter((other) => other.occurredAt <= occurredAt) : [],
  };
}

function findArrival({ newest, mark }: Pick<Known, 'newest' | 'mark'>, occurredAt: Time): Resolution | null {
  if (newest !== null && occurredAt < newest) return 'superseded';
  return mark !== null && occurredAt <= mark.resolvedUpTo ? mark.resolution : null;
}

function findRequestState(asks: boolean, arrival: Resolution | null) {
  if (!asks) return 'none';
  return arrival === null ? 'open' : 'withdrawn';
}

const countOpen = (states: readonly State[], taskId: string) =>
  states.filter((state) => state.taskId === taskId && state.requestState === 'open').length;

/** Returns the stored notification if the draft repeats it. An expiry that is due is stored first. */
function repeat(known: Known, draft: Draft, same: Notification, moment: Moment): Publishing {
  if (!isSameDraft(same, draft)) throw createConflictError(draft);
  const expired = expire(toState(same), moment);
  const notification = applyPatch(same, expired?.patch);
  return {
    notification,
    created: false,
    removed: [],
    ...toChanges([expired]),
    deliveries: queueDeliveries(known, notification, moment.at),
  };
}

/** Whether a stored notification has the content of a draft. The order of keys in JSON does not matter. */
function isSameDraft(stored: Notification, draft: Draft): boolean {
  const isSameTime = draft.expiresInSeconds !== null || draft.expiresAt === stored.expiresAt;
  return (
    draftContent.every((name) => stored[name] === draft[name]) &&
    (draft.occurredAt === null || draft.occurredAt === stored.occurredAt) &&
    stored.slot === draft.slot &&
    stored.expiresInSeconds === draft.expiresInSeconds &&
    isSameTime &&
    isSameJson(stored.payload, draft.payload) &&
    isSameJson(stored.onExpiry, draft.onExpiry)
  );
}

/** Compares values as they are stored: -0 is 0, and members that are undefined do not exist. */
function isSameJson(stored: unknown, given: unknown): boolean {
  return isDeepStrictEqual(stored, JSON.parse(JSON.stringify(given)));
}

function createConflictError({ path, id }: Draft): ConflictError {
  const message = 'is taken by a notification with other content';
  const issue = { path: [...path, 'id'], message, value: id };
  return new ConflictError('ID_REUSED', 'A notification with this ID and other content already exists.', [
    issue,
  ]);
}

/** Whether a notification may still be delivered. */
export const isDeliverable = (
  { status, createdAt }: Pick<State, 'status' | 'createdAt'>,
  at: Time,
): boolean => status === 'active' && createdAt > addMilliseconds(at, -LIFETIME_MS);

/** Returns a delivery for each target of a notification. For one that is published again, most are queued already. */
function queueDeliveries(
  { reach: { channels = defaultChannels, targets }, providers, emailDelayMs }: Known,
  notification: Notification,
  at: Time,
): QueuedDelivery[] {
  if (!isDeliverable(notification, at)) return [];
  const { userId, id: notificationId, createdAt } = notification;
  return deliveryChannels
    .filter(
      (channel) =>
        providers.has(channel) && isChannelEnabled(channel, channels) && mayQueue(channel, notification),
    )
    .flatMap((channel) =>
      targets[channel].map(({ id: target, provider }): QueuedDelivery => {
        const dueAt = channel === 'email' ? addMilliseconds(at, emailDelayMs) : at;
        const expiresAt = addMilliseconds(createdAt, LIFETIME_MS);
        const key = { userId, notificationId, channel, target, provider } as const;
        return { ...key, state: 'pending', dueAt, firstDueAt: dueAt, expiresAt, createdAt, updatedAt: at };
      }),
    );
}
