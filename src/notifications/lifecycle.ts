import type { PlatformEventType } from '../platform-events/platform-event.enums.ts';
import { addMilliseconds, latest, type Time } from '../values/time.ts';
import type { StoredRequestState } from './answers/answer.enums.ts';
import type { Answer, Receipt } from './answers/answer.ts';
import type { Notification } from './notification.entity.ts';
import type { Resolution } from './notification.enums.ts';

/*
 * What happens to a notification, as pure functions of what is stored, of what is given, and of the time.
 *
 *   status                        request        entered by                      left by
 *   active                        none, open     publish                         dismiss, and whatever resolves it
 *   active                        -              restore                         the same
 *   resolved  SUPERSEDED          withdrawn      a later publication             -
 *   resolved  ANSWERED            answered       an answer, or a default         -
 *   resolved  EXPIRED             expired        the time, without a default     -
 *   resolved  (another reason)    withdrawn      resolveNotifications            -
 *   dismissed                     any            dismiss, from every status      restore: active, or resolved as before
 *
 * - A request is settled once: `open` becomes `answered`, `expired` or `withdrawn`, which are final. That of a dismissed
 *   notification is settled in the same way, and the notification stays dismissed.
 * - An expiry that is due comes before anything else that would settle the request.
 * - Every change gets the next revision of the user. Times never decrease, even if clocks do.
 * - Removed are settled notifications: by age, or, unless they have an answer, to make room for those of a task token
 *   (task-budget.ts).
 */

/** What rules know of a notification: everything but its content. */
export const stateProperties = [
  'userId',
  'id',
  'taskId',
  'kind',
  'slot',
  'toolId',
  'byTask',
  'status',
  'resolution',
  'requestState',
  'skippedChannels',
  'occurredAt',
  'createdAt',
  'updatedAt',
  'resolvedAt',
  'dismissedAt',
  'expiresAt',
] as const satisfies readonly (keyof Notification)[];

/** A notification as rules know it. `hasDefault`: its request becomes answered when it expires. */
export type State = Pick<Notification, (typeof stateProperties)[number]> & { hasDefault: boolean };

/** Returns what rules know of a notification. */
export const toState = (notification: Notification): Notification & State => ({
  ...notification,
  hasDefault: notification.onExpiry !== null,
});

/**
 * The columns that a change gives to a notification. A request that becomes `answered` without an `answer` takes its
 * default.
 */
export type Patch = Pick<
  Notification,
  'id' | 'revision' | 'status' | 'resolution' | 'requestState' | 'resolvedAt' | 'dismissedAt' | 'updatedAt'
> & { answer?: Answer; receipt?: Receipt };

/** A platform event of a notification. */
export type Event = { type: PlatformEventType; notificationId: string; taskId: string };

/** What one notification becomes, and its event. */
export type Step = { patch: Patch; event?: Event | undefined };

/** When a change happens: its time, and the revision that it gives. */
export type Moment = { at: Time; revision: number };

/** Whether a notification is active, or its request is open. */
export const isUnsettled = ({ status, requestState }: Pick<State, 'status' | 'requestState'>): boolean =>
  status === 'active' || requestState === 'open';

/** Whether a request is open although its time has come. */
export const isDue = (
  { requestState, expiresAt }: Pick<State, 'requestState' | 'expiresAt'>,
  at: Time,
): boolean => requestState === 'open' && expiresAt !== null && expiresAt <= at;

/**
 * The time of a change: not before the last one. A change of a dismissed notification is always later than its dismissal,
 * so that it can be recognized.
 */
const changeTime = ({ status, updatedAt }: Pick<State, 'status' | 'updatedAt'>, at: Time): Time =>
  latest(at, status === 'dismissed' ? addMilliseconds(updatedAt, 1) : updatedAt);

const unchanged = (
  { id, status, resolution, requestState, resolvedAt, dismissedAt }: State,
  revision: number,
  updatedAt: Time,
): Patch => ({ id, revision, status, resolution, requestState, resolvedAt, dismissedAt, updatedAt });

const eventOf = (type: PlatformEventType, { id, taskId }: Pick<State, 'id' | 'taskId'>): Event => ({
  type,
  notificationId: id,
  taskId,
});

/** How a request is settled, and why the notification is resolved. */
type Settlement = {
  state: 'answered' | 'expired' | 'withdrawn';
  resolution: Resolution;
  answer?: Answer;
};

/** Settles a notification: its open request, by its expiry if that is due, and itself unless it is dismissed. */
function settle(state: State, { at, revision }: Moment, given: Settlement): Step {
  const expired: Settlement = state.hasDefault
    ? { state: 'answered', resolution: 'answered' }
    : { state: 'expired', resolution: 'expired' };
  const { state: settled, resolution, answer } = isDue(state, at) ? expired : given;
  const time = changeTime(state, at);
  const requestState: StoredRequestState = state.requestState === 'open' ? settled : state.requestState;
  const patch: Patch = {
    ...unchanged(state, revision, time),
    status: state.status === 'active' ? 'resolved' : state.status,
    resolution,
    resolvedAt: time,
    requestState,
    ...(answer && { answer }),
  };
  return {
    patch,
    event: state.requestState === 'open' ? eventOf(`notification.${settled}`, state) : undefined,
  };
}

/** Resolves a notification and withdraws its open request. */
export const withdraw = (state: State, moment: Moment, resolution: Resolution): Step =>
  settle(state, moment, { state: 'withdrawn', resolution });

/** Stores an expiry; `undefined` if none is due. */
export const expire = (state: State, moment: Moment): Step | undefined =>
  isDue(state, moment.at) ? withdraw(state, moment, 'expired') : undefined;

/** Stores an answer, or the expiry if that is due; `undefined` if the request is settled. */
export const answer = (state: State, moment: Moment, given: Answer): Step | undefined =>
  state.requestState === 'open'
    ? settle(state, moment, { state: 'answered', resolution: 'answered', answer: given })
    : undefined;

/**
 * Stores what a task did with an answer, after the expiry if that is due. The first receipt stays, and only an answer has
 * one: otherwise only the expiry is stored, if anything.
 */
export function acknowledge(
  state: State & Pick<Notification, 'receipt'>,
  moment: Moment,
  receipt: Receipt,
): Step | undefined {
  const expired = expire(state, moment);
  const requestState = expired?.patch.requestState ?? state.requestState;
  if (requestState !== 'answered' || state.receipt !== null) return expired;
  const patch = expired?.patch ?? unchanged(state, moment.revision, changeTime(state, moment.at));
  return { ...expired, patch: { ...patch, receipt } };
}

/**
 * Undoes a dismissal; `undefined` if the notification is not dismissed. It is active again, unless it was resolved, or would
 * have been without the dismissal: by a later notification of its slot; or, after the dismissal, by a resolution of its
 * task up to a time, or by a notification that supersedes every slot.
 * @param later the active notification of its slot, and the newest by `occurredAt` of its slot and of `''`
 */
export function restore(
  state: State,
  { at, revision }: Moment,
  later: readonly Later[],
  mark: Mark | undefined,
): Step | undefined {
  const { dismissedAt } = state;
  if (state.status !== 'dismissed' || dismissedAt === null) return undefined;
  const missed = findMissed({ ...state, dismissedAt }, later, mark);
  const { resolution, resolvedAt } = state.resolvedAt === null && missed ? missed : state;
  const patch: Patch = {
    ...unchanged(state, revision, latest(changeTime(state, at), resolvedAt)),
    status: resolvedAt === null ? 'active' : 'resolved',
    resolution,
    resolvedAt,
    dismissedAt: null,
  };
  return { patch, event: eventOf('notification.restored', state) };
}

/** The resolution of a task and kind up to a time, if there is one, and when it was stored. */
export type Mark = {
  resolvedUpTo: Time | null;
  resolution: Resolution | null;
  markedAt: Time | null;
};

type Later = Pick<State, 'id' | 'slot' | 'status' | 'occurredAt' | 'createdAt'>;

/** Finds what would have resolved a notification if it had not been dismissed. */
function findMissed(
  { id, slot, occurredAt, createdAt, dismissedAt }: State & { dismissedAt: Time },
  later: readonly Later[],
  mark: Mark | undefined,
): Pick<State, 'resolution' | 'resolvedAt'> | undefined {
  const others = later.filter((other) => other.id !== id);
  const ofSlot = others.filter(
    (other) =>
      other.slot === slot &&
      (other.status === 'active' ||
        other.occurredAt > occurredAt ||
        (other.occurredAt === occurredAt && other.createdAt > createdAt)),
  );
  const successor = findNewest(ofSlot);
  if (successor) return { resolution: 'superseded', resolvedAt: successor.createdAt };
  if (mark?.markedAt && mark.resolvedUpTo && mark.markedAt >= dismissedAt && mark.resolvedUpTo >= occurredAt)
    return { resolution: mark.resolution, resolvedAt: mark.markedAt };
  const ofAll = findNewest(others.filter((other) => other.slot === ''));
  if (ofAll && ofAll.createdAt >= dismissedAt && ofAll.occurredAt >= occurredAt)
    return { resolution: 'superseded', resolvedAt: ofAll.createdAt };
  return undefined;
}

const findNewest = (notifications: readonly Later[]): Later | undefined =>
  notifications.reduce<Later | undefined>(
    (last, other) => (last && last.occurredAt >= other.occurredAt ? last : other),
    undefined,
  );

/** Settles notifications in the order of their creation, with consecutive revisions. */
export function settleInOrder(
  states: readonly State[],
  { at, revision }: Moment,
  settleOne: (state: State, moment: Moment) => Step | undefined,
): Step[] {
  const key = ({ createdAt, id }: State) => `${createdAt} ${id}`;
  const steps: Step[] = [];
  for (const state of states.toSorted((one, other) => (key(one) < key(other) ? -1 : 1))) {
    const step = settleOne(state, { at, revision: revision + steps.length });
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

/** Returns a notification after a change. */
export function applyPatch(notification: Notification, patch: Patch | undefined): Notification {
  if (patch === undefined) return notification;
  const { answer = notification.answer, ...changed } = patch;
  const takesDefault = changed.requestState === 'answered' && answer === null;
  return { ...notification, ...changed, answer: takesDefault ? notification.onExpiry : answer };
}

/** Returns what steps store; `undefined` is a step that changes nothing. */
export const toChanges = (steps: readonly (Step | undefined)[]) => ({
  patches: steps.flatMap((step) => step?.patch ?? []),
  events: steps.flatMap((step) => step?.event ?? []),
});
