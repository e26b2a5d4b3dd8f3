import type { NotificationKind, NotificationPreferenceInput } from './generated/types.ts';
import type { AnswerContent } from './inbox-types.ts';
import type { Answer, Counts, EditorConnection, NotificationCard, Preference } from './records.ts';
import { countChanges, type State } from './state.ts';

type ChangeCard = (card: NotificationCard) => NotificationCard;

/** A change that was sent and is not confirmed yet: what it makes of each value. */
export type Change = {
  readonly notification?: ChangeCard;
  /** Changes counts beyond those of the loaded notifications. */
  readonly counts?: (counts: Counts) => Counts;
  readonly preferences?: (preferences: readonly Preference[]) => readonly Preference[];
  readonly editorAuth?: (editorAuth: EditorConnection) => EditorConnection;
};

/** Returns what is shown: the state with pending changes, in the order in which they were made. */
export function showChanges(state: State, changes: readonly Change[]): State {
  return changes.reduce(showChange, state);
}

function showChange(state: State, change: Change): State {
  const { notifications, counts, preferences, editorAuth } = state;
  const changed = { ...state, notifications: changeEntries(notifications, change.notification) };
  const counted = counts && countChanges(counts.value, state, changed);
  return {
    ...changed,
    counts: counts && counted && { ...counts, value: { ...counted, ...change.counts?.(counted) } },
    preferences: preferences && {
      ...preferences,
      value: change.preferences?.(preferences.value) ?? preferences.value,
    },
    editorAuth: editorAuth && {
      ...editorAuth,
      value: change.editorAuth?.(editorAuth.value) ?? editorAuth.value,
    },
  };
}

function changeEntries(
  notifications: State['notifications'],
  change: ChangeCard | undefined,
): State['notifications'] {
  if (change === undefined) return notifications;
  const entries = new Map(notifications.entries);
  for (const [id, { item, arrival }] of entries) {
    const changed = item && change(item);
    if (changed !== item) entries.set(id, { item: changed, arrival });
  }
  return { ...notifications, entries };
}

const changeOne = (id: string, change: ChangeCard) => changeSome(new Set([id]), change);

const changeSome =
  (ids: ReadonlySet<string>, change: ChangeCard): ChangeCard =>
  (card) =>
    ids.has(card.id) ? change(card) : card;

/** Dismisses a notification. */
export function dismissal(id: string, dismissedAt: string): Change {
  return { notification: changeOne(id, (card) => ({ ...card, status: 'DISMISSED', dismissedAt })) };
}

/** Dismisses some notifications. */
export function dismissalOfSome(ids: ReadonlySet<string>, dismissedAt: string): Change {
  const dismiss: ChangeCard = (card) =>
    card.status === 'DISMISSED' ? card : { ...card, status: 'DISMISSED', dismissedAt };
  return { notification: changeSome(ids, dismiss) };
}

/** Restores a dismissed notification. */
export const restoration = (id: string) => restorationOfSome(new Set([id]));

/** Restores some notifications, of those that are dismissed. */
export function restorationOfSome(ids: ReadonlySet<string>): Change {
  return {
    notification: changeSome(ids, (card) => {
      if (card.status !== 'DISMISSED') return card;
      return { ...card, status: card.resolvedAt === null ? 'ACTIVE' : 'RESOLVED', dismissedAt: null };
    }),
  };
}

/** Selects notifications to dismiss. */
export type DismissAllFilter = {
  readonly kinds?: readonly NotificationKind[];
  readonly projectIds?: readonly string[];
  /** Whether open requests are dismissed, too. Defaults to `false`. */
  readonly openRequests?: boolean;
};

/**
 * Dismisses all active notifications of a filter, also those that are not loaded, but none that is newer than `newest`:
 * the user did not see it.
 */
export function dismissalOfAll(
  { kinds, projectIds, openRequests = false }: DismissAllFilter,
  dismissedAt: string,
  newest?: string,
): Change {
  const wasSeen = ({ createdAt }: NotificationCard) => newest === undefined || createdAt <= newest;
  const isMeant = (kind: string) => kinds === undefined || kinds.some((one) => one === kind);
  const dismiss: ChangeCard = (card) =>
    card.status === 'ACTIVE' &&
    (openRequests || card.request?.state !== 'OPEN') &&
    wasSeen(card) &&
    isMeant(card.kind) &&
    (projectIds?.includes(card.task.projectId) ?? true)
      ? { ...card, status: 'DISMISSED', dismissedAt }
      : card;
  if (projectIds !== undefined) return { notification: dismiss };
  // How many notifications of the other kinds are open requests is not known.
  const isCounted = (kind: string) => isMeant(kind) && (openRequests || kind === 'TASK_FAILED');
  return {
    notification: dismiss,
    counts(counts) {
      const byKind = counts.byKind.map((item) => (isCounted(item.kind) ? { ...item, count: 0 } : item));
      return { ...counts, byKind, total: byKind.reduce((sum, { count }) => sum + count, 0) };
    },
  };
}

/** Answers a notification whose request is open. */
export function answering(id: string, content: AnswerContent, answerId: string, answeredAt: string): Change {
  return {
    notification: changeOne(id, (card) => {
      if (card.request?.state !== 'OPEN') return card;
      const answer = toAnswer(card, content, { answerId, by: null, via: 'GRAPHQL', answeredAt });
      const request = { ...card.request, state: 'ANSWERED' as const, answer };
      if (card.status !== 'ACTIVE') return { ...card, request };
      return { ...card, request, status: 'RESOLVED', resolution: 'ANSWERED', resolvedAt: answeredAt };
    }),
  };
}

/** Returns an answer as the gateway will, with the texts of questions and options. */
function toAnswer(
  card: NotificationCard,
  content: AnswerContent,
  origin: Pick<Answer, 'answerId' | 'by' | 'via' | 'answeredAt'>,
): Answer {
  const answer = { ...origin, plan: null, questions: null, reply: null };
  if ('plan' in content) {
    const { decision, feedback = null } = content.plan;
    return { ...answer, plan: { decision, feedback } };
  }
  if ('reply' in content) return { ...answer, reply: content.reply };
  const asked = card.payload && 'questions' in card.payload ? card.payload.questions : [];
  const questions = content.questions.map(({ index, options, other = null }) => {
    const { question = '', options: offered = [] } = asked[index] ?? {};
    const labels = options.map((option) => offered[option]?.label ?? '');
    return { index, question, options, labels, other };
  });
  return { ...answer, questions };
}

/** Changes channels, in order. */
export function preferenceChanges(inputs: readonly NotificationPreferenceInput[]): Change {
  const apply = (preference: Preference, input: NotificationPreferenceInput): Preference => {
    if (input.notificationKind != null && input.notificationKind !== preference.notificationKind)
      return preference;
    return {
      ...preference,
      emailEnabled: input.emailEnabled ?? preference.emailEnabled,
      pushEnabled: input.pushEnabled ?? preference.pushEnabled,
      chatDmEnabled: input.chatDmEnabled ?? preference.chatDmEnabled,
    };
  };
  return { preferences: (preferences) => preferences.map((preference) => inputs.reduce(apply, preference)) };
}

/** Connects or disconnects the editor. */
export function editorChange(type: EditorConnection['auth']['type']): Change {
  return {
    editorAuth: (editorAuth) => ({ ...editorAuth, auth: { type }, needsReauth: false, reauthReason: null }),
  };
}
