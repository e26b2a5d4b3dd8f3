import type { AccountEvent } from './account-events.ts';
import {
  type Collection,
  dropUnused,
  emptyCollection,
  FORGOTTEN,
  forgetEntries,
  MAX_UNUSED,
  type Page,
  type Position,
  putAhead,
  putItem,
  putPage,
  type Rules,
  selectFollowed,
} from './collection.ts';
import { matchesNotification, matchesWorkspace } from './filters.ts';
import type { NotificationFilter, WorkspaceFilter } from './generated/types.ts';
import type {
  Counts,
  Delivery,
  EditorConnection,
  NotificationCard,
  Preference,
  WorkspaceCard,
} from './records.ts';

/** A value, and how many things had arrived when it did. */
type Arrived<Value> = { readonly value: Value; readonly arrival: number };

/** Counts with the cursor up to which `dismissNotifications` may dismiss. */
export type CountsWithCursor = Counts & { readonly cursor: string };

/** What the gateway has said, without pending changes. */
export type State = {
  /** Counts what has arrived: replies and events. */
  readonly arrivals: number;
  /** The arrivals before the last gap, in which changes were missed. */
  readonly gap: number;
  readonly notifications: Collection<NotificationCard, NotificationFilter>;
  readonly workspaces: Collection<WorkspaceCard, WorkspaceFilter>;
  readonly counts: Arrived<CountsWithCursor> | undefined;
  readonly editorAuth: Arrived<EditorConnection> | undefined;
  readonly preferences: Arrived<readonly Preference[]> | undefined;
  readonly deliveries: ReadonlyMap<string, readonly Delivery[]>;
};

export const emptyState: State = {
  arrivals: 0,
  gap: 0,
  notifications: emptyCollection,
  workspaces: emptyCollection,
  counts: undefined,
  editorAuth: undefined,
  preferences: undefined,
  deliveries: new Map(),
};

/** Later statuses of the same millisecond: a change of a dismissed notification always has a later `updatedAt`. */
const STATUS_ORDER = ['ACTIVE', 'RESOLVED', 'DISMISSED'];

function isOlderNotification(one: NotificationCard, other: NotificationCard): boolean {
  if (one.updatedAt !== other.updatedAt) return one.updatedAt < other.updatedAt;
  const order = STATUS_ORDER.indexOf(one.status) - STATUS_ORDER.indexOf(other.status);
  return order === 0 ? !one.request?.receipt && Boolean(other.request?.receipt) : order < 0;
}

export const notificationRules: Rules<NotificationCard, NotificationFilter> = {
  matches: matchesNotification,
  isOlder: isOlderNotification,
};

export const workspaceRules: Rules<WorkspaceCard, WorkspaceFilter> = {
  matches: matchesWorkspace,
  isOlder: (one, other) => one.updatedAt < other.updatedAt,
};

/** A reply: its request was sent when `since` things had arrived. */
export type Sent = { readonly since: number };

const arrive = (state: State): State => ({ ...state, arrivals: state.arrivals + 1 });

/** Applies an event. One of unknown content changes nothing. */
export function applyEvent(before: State, { content }: AccountEvent): State {
  const state = arrive(before);
  const arrival = state.arrivals;
  if (content.__typename === 'NotificationEvent') return storeNotification(state, content.notification);
  if (content.__typename === 'NotificationCounts') {
    // They follow the events before them, but may be from before changes of the user whose events are still to come.
    const followed = { notifications: selectFollowed(state.notifications) };
    return { ...state, counts: { value: countChanges(content, followed, state), arrival } };
  }
  if (content.__typename === 'WorkspaceEvent') {
    const { workspaceId, workspace } = content;
    const workspaces = putItem(state.workspaces, workspaceRules, workspaceId, workspace, arrival);
    return { ...state, workspaces };
  }
  if (content.__typename === 'EditorAuthEvent')
    return { ...state, editorAuth: { value: content.editorAuth, arrival } };
  return state;
}

const storeNotification = (state: State, card: NotificationCard): State => ({
  ...state,
  notifications: putItem(state.notifications, notificationRules, card.id, card, state.arrivals),
});

const storeAhead = (state: State, card: NotificationCard): State => ({
  ...state,
  notifications: putAhead(state.notifications, notificationRules, card.id, card, state.arrivals),
});

/** Applies the reply to a query of a notification; null if it does not exist, unless it has arrived since. */
export function applyNotification(
  before: State,
  id: string,
  card: NotificationCard | null,
  { since }: Sent,
): State {
  const state = arrive(before);
  if (card !== null) return storeNotification(state, card);
  const known = state.notifications.entries.get(id);
  if (known !== undefined && since < known.arrival) return state;
  const entries = new Map(state.notifications.entries).set(id, { item: null, arrival: state.arrivals });
  return { ...state, notifications: { ...state.notifications, entries } };
}

/** A list whose page is applied. */
export type ListOf<Filter> = {
  readonly key: string;
  readonly filter: Filter;
  readonly after?: Position | undefined;
};

/** Applies a page of notifications. */
export function applyNotifications(
  before: State,
  list: ListOf<NotificationFilter>,
  page: Page<NotificationCard>,
  { since }: Sent,
): State {
  const state = arrive(before);
  const times = { since, arrival: state.arrivals };
  return { ...state, notifications: putPage(state.notifications, notificationRules, list, page, times) };
}

/** Applies a page of workspaces. */
export function applyWorkspaces(
  before: State,
  list: ListOf<WorkspaceFilter>,
  page: Page<WorkspaceCard>,
  { since }: Sent,
): State {
  const state = arrive(before);
  const times = { since, arrival: state.arrivals };
  return { ...state, workspaces: putPage(state.workspaces, workspaceRules, list, page, times) };
}

/** Returns the arrived value after a reply: that of the reply, unless a later one has arrived since it was requested. */
function arriveReply<Value>(
  known: Arrived<Value> | undefined,
  value: Value,
  { since }: Sent,
  arrival: number,
): Arrived<Value> {
  return known !== undefined && since < known.arrival ? known : { value, arrival };
}

/** Applies the reply to a query of the counts, unless an event brought counts since. */
export function applyCounts(before: State, value: CountsWithCursor, sent: Sent): State {
  const state = arrive(before);
  return { ...state, counts: arriveReply(state.counts, value, sent, state.arrivals) };
}

/** Applies the reply to a query of the connection of the editor, unless an event brought it since. */
export function applyEditorAuth(before: State, value: EditorConnection, sent: Sent): State {
  const state = arrive(before);
  return { ...state, editorAuth: arriveReply(state.editorAuth, value, sent, state.arrivals) };
}

/** Applies a reply with the preferences, unless later ones have arrived since its request was sent. */
export function applyPreferences(before: State, value: readonly Preference[], sent: Sent): State {
  const state = arrive(before);
  return { ...state, preferences: arriveReply(state.preferences, value, sent, state.arrivals) };
}

/** Returns the key of a notification among all resources. */
export const notificationKey = (id: string) => `notification ${id}`;

/** Forgets notifications that no used resource shows, except for the latest. */
export function forgetUnused(state: State, isUsed: (key: string) => boolean, kept = MAX_UNUSED): State {
  const used = { list: isUsed, record: (id: string) => isUsed(notificationKey(id)) };
  const notifications = dropUnused(state.notifications, notificationRules, used, kept);
  return notifications === state.notifications ? state : { ...state, notifications };
}

/** Marks everything as received before any reply or event to come, which are newer even if their times are not. */
export function forgetArrivals(before: State): State {
  const { notifications, workspaces, counts, editorAuth } = before;
  const state = arrive(before);
  return {
    ...state,
    gap: state.arrivals,
    notifications: forgetEntries(notifications),
    workspaces: forgetEntries(workspaces),
    counts: counts && { ...counts, arrival: FORGOTTEN },
    editorAuth: editorAuth && { ...editorAuth, arrival: FORGOTTEN },
  };
}

/**
 * Applies notifications that a mutation changed, and adds to the counts what differs from the stored ones: then their
 * events are still to come, and the counts after them. If there was a gap since the mutation was sent, its reply may be
 * older than what is loaded after the gap, which includes the change.
 */
export function applyChanged(before: State, changed: readonly NotificationCard[], { since }: Sent): State {
  if (since < before.gap) return arrive(before);
  const state = changed.reduce(storeAhead, arrive(before));
  const { counts } = before;
  if (counts === undefined) return state;
  // What was known of the others is from before a gap, and the counts may be later.
  const known = changed.filter(({ id }) => before.notifications.entries.get(id)?.arrival !== FORGOTTEN);
  const value = countChanges(counts.value, before, known.reduce(storeNotification, before));
  return { ...state, counts: { ...counts, value } };
}

/** What a dismissal of many returns of each. */
type Dismissed = Pick<NotificationCard, 'id' | 'status' | 'updatedAt' | 'dismissedAt'>;

/** Applies a dismissal of many; `change.counts` includes those that are not loaded. */
export function applyDismissed(
  before: State,
  dismissed: readonly Dismissed[],
  change: { readonly counts?: (counts: Counts) => Counts },
  sent: Sent,
): State {
  const changed = dismissed.flatMap(({ id, ...changes }) => {
    const card = before.notifications.entries.get(id)?.item;
    return card ? [{ ...card, ...changes }] : [];
  });
  const state = applyChanged(before, changed, sent);
  const { counts } = state;
  if (counts === undefined || sent.since < Math.max(counts.arrival, before.gap)) return state;
  return { ...state, counts: { ...counts, value: { ...counts.value, ...change.counts?.(counts.value) } } };
}

/** Adds to counts of active notifications and open requests what differs between two states of the notifications. */
export function countChanges<Value extends Counts>(
  counts: Value,
  before: Pick<State, 'notifications'>,
  after: Pick<State, 'notifications'>,
): Value {
  const active = new Map<string, number>();
  let openRequests = 0;
  for (const [id, { item }] of after.notifications.entries) {
    const old = before.notifications.entries.get(id)?.item;
    if (item == null || old == null || item === old) continue;
    active.set(
      item.kind,
      (active.get(item.kind) ?? 0) + countIf(item.status === 'ACTIVE') - countIf(old.status === 'ACTIVE'),
    );
    openRequests += countIf(item.request?.state === 'OPEN') - countIf(old.request?.state === 'OPEN');
  }
  const byKind = counts.byKind.map(({ kind, count }) => ({
    kind,
    count: Math.max(0, count + (active.get(kind) ?? 0)),
  }));
  const total = counts.total + [...active.values()].reduce((sum, count) => sum + count, 0);
  return {
    ...counts,
    byKind,
    total: Math.max(0, total),
    openRequests: Math.max(0, counts.openRequests + openRequests),
  };
}

const countIf = (condition: boolean) => (condition ? 1 : 0);
