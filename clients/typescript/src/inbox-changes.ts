import type { AccountStore } from './account-store.ts';
import {
  answering,
  type Change,
  dismissal,
  dismissalOfAll,
  dismissalOfSome,
  editorChange,
  preferenceChanges,
  restoration,
  restorationOfSome,
} from './changes.ts';
import { GatewayError } from './gateway-error.ts';
import * as documents from './generated/documents.ts';
import type { AnswerMutation, DismissNotificationsInput } from './generated/types.ts';
import type { Send } from './inbox-resources.ts';
import type { AnswerOutcome, Dismissal, Inbox } from './inbox-types.ts';
import { openPendingAnswer } from './pending-answers.ts';
import type { EditorConnection, NotificationCard } from './records.ts';
import type { AccountSession } from './session.ts';
import { applyChanged, applyDismissed, applyEditorAuth, applyPreferences } from './state.ts';
import { expectValue } from './transport.ts';

/** The changes that a user can make. */
type InboxChanges = Pick<
  Inbox,
  | 'dismiss'
  | 'restore'
  | 'dismissAll'
  | 'dismissMany'
  | 'answer'
  | 'updatePreferences'
  | 'connectEditor'
  | 'disconnectEditor'
>;

/** Errors after which nobody knows whether an answer was stored, or which say nothing about it. */
const UNDECIDED = [
  'NETWORK_ERROR',
  'NO_TOKEN',
  'INTERNAL_ERROR',
  'RATE_LIMITED',
  'UNAUTHENTICATED',
  'SIGNED_OUT',
];

/** What the user does, and the IDs of the answers that this inbox has sent. */
type Changes = InboxChanges & { readonly ownAnswers: ReadonlySet<string> };

/** The key of changes of all notifications, and of one. */
const ALL = 'notifications';
const keyOf = (id: string) => `${ALL}/${id}`;

/** Creates the functions by which a user changes things. */
export function createChanges(store: AccountStore, send: Send, session: AccountSession): Changes {
  const now = () => new Date().toISOString();
  const ownAnswers = new Set<string>();

  async function changeNotification(
    id: string,
    change: Change,
    mutation: (signal: AbortSignal) => Promise<NotificationCard>,
  ): Promise<void> {
    await store.mutate(keyOf(id), change, mutation, (state, card, sent) => applyChanged(state, [card], sent));
  }

  /** If events arrive meanwhile, nobody knows which state is later, so the state is read again. */
  async function changeEditor(
    change: Change,
    mutation: (signal: AbortSignal) => Promise<EditorConnection>,
  ): Promise<void> {
    const changeAndRead = async (signal: AbortSignal) => {
      let before = store.shown.editorAuth?.arrival;
      let value = await mutation(signal);
      while (store.shown.editorAuth?.arrival !== before) {
        before = store.shown.editorAuth?.arrival;
        value = expectValue((await send(documents.EditorConnection, {}, signal)).editorAuth);
      }
      return value;
    };
    await store.mutate('editor', change, changeAndRead, (state, value) =>
      applyEditorAuth(state, value, { since: state.arrivals }),
    );
  }

  /** Loads the cursor of the latest counts. */
  async function loadCursor(signal: AbortSignal): Promise<string> {
    return expectValue((await send(documents.Counts, {}, signal)).notificationCounts).cursor;
  }

  async function dismissSeveral(
    change: Change,
    select: (signal: AbortSignal) => Promise<DismissNotificationsInput>,
  ): Promise<Dismissal> {
    const { entries } = store.shown.notifications;
    const changed = [...entries].filter(
      ([, { item }]) => item !== null && change.notification?.(item) !== item,
    );
    const mutation = async (signal: AbortSignal) => {
      const { dismissNotifications } = await send(
        documents.DismissAll,
        { input: await select(signal) },
        signal,
      );
      return expectValue(dismissNotifications);
    };
    const reply = await store.mutate(ALL, change, mutation, (state, { notifications }, sent) =>
      applyDismissed(state, notifications, change, sent),
    );
    const ids = new Set(changed.map(([id]) => id));
    return { count: reply.dismissedCount, undo: () => undoDismissal(reply.undoToken, ids) };
  }

  /** Restores what a dismissal dismissed; `ids` of what is loaded are shown at once. */
  async function undoDismissal(undoToken: string | null, ids: ReadonlySet<string>): Promise<void> {
    if (undoToken === null) return;
    await store.mutate(
      ALL,
      restorationOfSome(ids),
      async (signal) => {
        const { restoreNotifications } = await send(documents.RestoreAll, { input: { undoToken } }, signal);
        return expectValue(restoreNotifications).notifications;
      },
      (state, cards, sent) => applyChanged(state, cards, sent),
    );
  }

  return {
    ownAnswers,

    dismiss: (id) =>
      changeNotification(id, dismissal(id, now()), async (signal) => {
        const { dismissNotification } = await send(documents.Dismiss, { input: { id } }, signal);
        return expectValue(dismissNotification).notification;
      }),

    restore: (id) =>
      changeNotification(id, restoration(id), async (signal) => {
        const { restoreNotification } = await send(documents.Restore, { input: { id } }, signal);
        return expectValue(restoreNotification).notification;
      }),

    async dismissAll(filter = {}) {
      const newest = [...store.shown.notifications.entries.values()]
        .flatMap(({ item }) => item?.createdAt ?? [])
        .sort()
        .at(-1);
      const change = dismissalOfAll(filter, now(), newest);
      // Earlier changes are sent first. What arrives meanwhile is not what the user dismissed.
      const seen = store.shown.counts?.value.cursor;
      return dismissSeveral(change, async (signal) => ({
        filter: { ...filter, upTo: seen ?? (await loadCursor(signal)) },
      }));
    },

    dismissMany: (ids) =>
      dismissSeveral(dismissalOfSome(new Set(ids), now()), async () => ({ ids: [...ids] })),

    async answer(id, content) {
      const pending = openPendingAnswer(session.account ?? (await session.identify()), id);
      const answerId = pending.getId(content);
      ownAnswers.add(answerId);
      const input = { id, answerId, ...content };
      try {
        const reply = await store.mutate(
          keyOf(id),
          answering(id, content, answerId, now()),
          async (signal) => expectValue((await send(documents.Answer, { input }, signal)).answerNotification),
          (state, { notification }, sent) => applyChanged(state, [notification], sent),
        );
        pending.settle();
        return toOutcome(reply);
      } catch (error) {
        if (!(error instanceof GatewayError && UNDECIDED.includes(error.code))) pending.settle();
        throw error;
      }
    },

    async updatePreferences(preferences) {
      await store.mutate(
        'preferences',
        preferenceChanges(preferences),
        async (signal) => {
          const reply = await send(documents.UpdatePreferences, { input: { preferences } }, signal);
          return expectValue(reply.updateNotificationPreferences);
        },
        (state, { preferences }) => applyPreferences(state, preferences, { since: state.arrivals }),
      );
    },

    connectEditor: (input) =>
      changeEditor(editorChange('SUBSCRIPTION'), async (signal) => {
        const { storeEditorSubscription } = await send(documents.ConnectEditor, { input }, signal);
        return expectValue(storeEditorSubscription).editorAuth;
      }),

    disconnectEditor: () =>
      changeEditor(editorChange('NONE'), async (signal) => {
        const { deleteEditorAuth } = await send(documents.DisconnectEditor, {}, signal);
        return expectValue(deleteEditorAuth).editorAuth;
      }),
  };
}

function toOutcome(reply: NonNullable<AnswerMutation['answerNotification']>): AnswerOutcome {
  if (reply.__typename === 'AnswerStored') return { type: 'stored', notification: reply.notification };
  const { state, settledAt, answer, notification } = reply;
  return { type: 'alreadySettled', state, settledAt, answer, notification };
}
