import { hash, randomUUID } from 'node:crypto';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { Path, ValidationIssue } from '../errors/issue.ts';
import type { Outbox } from '../live/outbox.ts';
import { findExcess } from '../values/constraints.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { latest, type Time } from '../values/time.ts';
import type { SupersedeScope } from './answers/answer.enums.ts';
import { asksUser, findAnswerExcess } from './answers/answer.ts';
import {
  changeNotifications,
  changeNotificationsOfUsers,
  MAX_SETTLED,
  type NotificationChange,
  type NotificationDependencies,
} from './change-notifications.ts';
import { listEnabled, listLeftToCaller } from './channel-decision.ts';
import {
  applyPatch,
  type Event,
  type Moment,
  type Patch,
  settleInOrder,
  toChanges,
  toState,
  withdraw,
} from './lifecycle.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationDraft } from './notification-draft.ts';
import type { NotificationPayload } from './payload.ts';
import { arrive, type Draft, isDeliverable, type Known, publish, type QueuedDelivery } from './publish.ts';
import { type FoundOfUser, keyOf, readKnown } from './read-publications.ts';
import { MAX_BYTES } from './task-budget.ts';

/** A draft, the user to publish it to, and its path in the arguments. */
export type PublishRequest = { userId: string; draft: NotificationDraft; path: readonly (string | number)[] };

/**
 * A published notification. `created` is `false` if the same notification was stored already. `channels` are the
 * channels that the user's preferences enabled when it was stored, and `deliverByCaller` those of them over which the
 * caller delivers.
 */
export type Publication = {
  notification: Notification;
  created: boolean;
  channels: DeliveryChannel[];
  deliverByCaller: DeliveryChannel[];
};

/**
 * Stores notifications in order, all or none, and returns their final states: see publish.ts.
 * @param byTask whether a task token publishes them, which has a budget: see task-budget.ts
 * @throws {ConflictError} if a notification with the same ID and other content exists, or if the task has used up its
 *   budget
 * @throws {ValidationError} if a draft expires in the past or is too large
 */
export async function publishNotifications(
  dependencies: NotificationDependencies,
  requests: readonly PublishRequest[],
  byTask = false,
): Promise<Publication[]> {
  const drafts = requests.map((request) => toDraft(request, byTask));
  const ofUsers = Map.groupBy(drafts, ({ userId }) => userId);
  const change = createChange(dependencies.outbox, ofUsers);
  const [first, ...others] = ofUsers.keys();
  if (first === undefined) return [];
  const steps =
    others.length === 0
      ? [await changeNotifications(dependencies, first, change)]
      : await changeNotificationsOfUsers(dependencies, [first, ...others], change);
  const publications = new Map(steps.flat(2));
  return drafts.map((draft) => {
    const publication = publications.get(draft);
    if (publication === undefined) throw new Error('A notification was not published.');
    return publication;
  });
}

function toDraft({ userId, draft: given, path }: PublishRequest, byTask: boolean): Draft {
  const { supersedes, ...draft } = given;
  const id = draft.id ?? randomUUID();
  const { payload, onExpiry } = draft;
  return {
    ...draft,
    userId,
    id,
    slot: findSlot(supersedes, { id, payload }, path),
    everySlot: supersedes === 'task_and_kind',
    toolId: 'toolId' in payload ? payload.toolId : null,
    asks: asksUser(draft),
    onExpiry: onExpiry && { ...onExpiry, answerId: null, by: null, via: 'default' },
    byTask,
    given,
    path,
  };
}

/**
 * Returns the slot of a publication: one for the task and kind, one for each tool call, or one of its own.
 * @throws {ValidationError} for `tool_call` without a tool ID in the payload
 */
function findSlot(
  supersedes: SupersedeScope,
  { id, payload }: { id: string; payload: NotificationPayload },
  path: Path,
): string {
  if (supersedes === 'task_and_kind') return '';
  if (supersedes === 'nothing') return toSlot(`id:${id}`);
  if ('toolId' in payload) return toSlot(`tool:${payload.toolId}`);
  const message = 'must not be TOOL_CALL, because the payload has no tool ID';
  throw new ValidationError([{ path: [...path, 'supersedes'], message, value: 'TOOL_CALL' }]);
}

/** An entry of an index has at most 2,704 bytes, of which the IDs of user and task take up to 2,040. */
const MAX_SLOT_BYTES = 500;

const toSlot = (name: string): string =>
  Buffer.byteLength(name) <= MAX_SLOT_BYTES ? name : `hash:${hash('sha256', name, 'base64url')}`;

/** What is read to publish drafts. */
type Found = Awaited<ReturnType<typeof readKnown>>;

function createChange(
  { channels, emailDelayMs }: Outbox,
  ofUsers: ReadonlyMap<string, readonly Draft[]>,
): NotificationChange<Found, [Draft, Publication][]> {
  return {
    read: (read, users) =>
      readKnown(
        read,
        users.flatMap((userId) => ofUsers.get(userId) ?? []),
        channels,
      ),
    decide(find, moment, userId) {
      const drafts = ofUsers.get(userId) ?? [];
      const found = find(userId);
      refuseUnlessStored(drafts, found.same, moment.at);
      return (
        makeRoom(drafts, found, moment) ??
        publishAll(drafts, found, { providers: channels, emailDelayMs }, moment)
      );
    },
  };
}

/** If a draft supersedes more notifications than one step may settle, settles the first of them. */
function makeRoom(drafts: readonly Draft[], { states, same, slotOf }: FoundOfUser, { at, revision }: Moment) {
  if (states.length <= MAX_SETTLED) return undefined;
  for (const draft of drafts) {
    if (same.has(draft.id)) continue;
    const { superseded, time } = arrive({ states, ...slotOf(draft) }, draft, at);
    if (superseded.length <= MAX_SETTLED) continue;
    const first = superseded.slice(0, MAX_SETTLED);
    const steps = settleInOrder(first, { at: time, revision }, (state, moment) =>
      withdraw(state, moment, 'superseded'),
    );
    return { ...toChanges(steps), result: [], more: true };
  }
  return undefined;
}

/** Publishes drafts one after another: each knows what those before it have changed. */
function publishAll(
  drafts: readonly Draft[],
  { states, same, slotOf, reachOf }: FoundOfUser,
  delivery: Pick<Known, 'providers' | 'emailDelayMs'>,
  { at, revision }: Moment,
) {
  const known = new Map(states.map((state) => [state.id, state]));
  const stored = new Map(same);
  const newest = new Map<string, Time>();
  const inserted = new Set<string>();
  const patches = new Map<string, Patch>();
  const removed: string[] = [];
  const events: Event[] = [];
  const deliveries: QueuedDelivery[] = [];
  const apply = (patch: Patch) => {
    const state = known.get(patch.id);
    if (state !== undefined) known.set(patch.id, { ...state, ...patch });
    const notification = stored.get(patch.id);
    if (notification !== undefined) stored.set(patch.id, applyPatch(notification, patch));
    if (!inserted.has(patch.id)) patches.set(patch.id, patch);
  };
  let next = revision;
  const created: boolean[] = [];
  for (const draft of drafts) {
    const slot = slotOf(draft);
    const key = keyOf(draft);
    const last = newest.get(key) ?? slot.newest;
    const published = publish(
      {
        ...delivery,
        states: [...known.values()],
        same: stored.get(draft.id),
        newest: last,
        mark: slot.mark,
        reach: reachOf(draft.kind),
      },
      draft,
      { at, revision: next },
    );
    for (const patch of published.patches) apply(patch);
    events.push(...published.events);
    const { notification } = published;
    created.push(published.created);
    for (const id of published.removed) {
      known.delete(id);
      patches.delete(id);
      if (!inserted.delete(id)) removed.push(id);
    }
    deliveries.push(...published.deliveries);
    if (published.created) {
      inserted.add(draft.id);
      stored.set(draft.id, notification);
      known.set(draft.id, toState(notification));
      newest.set(key, latest(notification.occurredAt, last));
      next = notification.revision + 1;
    } else {
      next += published.patches.length;
    }
  }
  const result = drafts.map((draft, index): [Draft, Publication] => {
    const notification = stored.get(draft.id);
    if (notification === undefined) throw new Error('A published notification was not found.');
    const { skippedChannels } = notification;
    const publication = {
      notification,
      created: created[index] ?? false,
      channels: listEnabled(skippedChannels),
      deliverByCaller: isDeliverable(notification, at) ? listLeftToCaller(skippedChannels) : [],
    };
    return [draft, publication];
  });
  return {
    removed,
    patches: [...patches.values()],
    inserted: [...stored.values()].filter(({ id }) => inserted.has(id)),
    events,
    // Later drafts may have superseded it.
    deliveries: deliveries.filter(({ notificationId }) => stored.get(notificationId)?.status === 'active'),
    result,
  };
}

/**
 * Refuses drafts that expire in the past or are too large, unless a notification with the ID is stored: a late retry must
 * find it, and earlier versions stored larger ones.
 * @throws {ValidationError} if there are any
 */
function refuseUnlessStored(
  drafts: readonly Draft[],
  same: ReadonlyMap<string, Notification>,
  at: Time,
): void {
  const issues = drafts.flatMap((draft) => (same.has(draft.id) ? [] : findDraftIssues(draft, at)));
  if (issues.length > 0) throw new ValidationError(issues);
}

function findDraftIssues(draft: Draft, at: Time): ValidationIssue[] {
  const { expiresAt, payload, onExpiry, byTask, asks, given, path } = draft;
  const isExpired = expiresAt !== null && expiresAt <= at;
  const messages = [
    { name: 'expiresAt', value: expiresAt, message: isExpired ? 'must be in the future' : undefined },
    {
      name: 'payload',
      value: payload,
      message: findExcess(payload, byTask && !asks ? MAX_BYTES.payload : undefined),
    },
    {
      name: 'onExpiry',
      value: given.onExpiry,
      message: onExpiry ? findAnswerExcess(onExpiry) : undefined,
    },
    { name: [], value: given, message: byTask ? findExcess(given, MAX_BYTES.draft) : undefined },
  ];
  return messages.flatMap(({ name, value, message }) =>
    message === undefined ? [] : { path: path.concat(name), message, value },
  );
}
