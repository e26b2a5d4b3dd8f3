import {
  type AnswerContent,
  type AnswerOutcome,
  GatewayError,
  type Inbox,
  type NotificationCard,
} from '@workspace-account/client';
import { useCallback, useState, useSyncExternalStore } from 'react';
import { useInboxClient } from './inbox-provider.tsx';
import { isStillNow, wasStill, watchStillness } from './stillness.ts';

type Outcome<Type> = Extract<AnswerOutcome, { readonly type: Type }>;

/** How far the latest answer to a notification has come. */
export type AnswerProgress =
  | {
      readonly state: 'idle';
      readonly content: undefined;
      readonly outcome: undefined;
      readonly error: undefined;
    }
  | {
      /** Nothing was sent, because `isReady` was false. */
      readonly state: 'ignored';
      readonly content: AnswerContent;
      readonly outcome: undefined;
      readonly error: undefined;
    }
  | {
      readonly state: 'sending';
      /** What was answered. */
      readonly content: AnswerContent;
      readonly outcome: undefined;
      readonly error: undefined;
    }
  | {
      readonly state: 'stored';
      readonly content: AnswerContent;
      readonly outcome: Outcome<'stored'>;
      readonly error: undefined;
    }
  | {
      /** Another answer, the expiry or the platform was first. `outcome` has the winner. */
      readonly state: 'alreadySettled';
      readonly content: AnswerContent;
      readonly outcome: Outcome<'alreadySettled'>;
      readonly error: undefined;
    }
  | {
      readonly state: 'failed';
      readonly content: AnswerContent;
      readonly outcome: undefined;
      readonly error: GatewayError;
    };

/** How far an answer has come, and a function that sends one. */
export type UseAnswer = AnswerProgress & {
  /** For the element with the controls that send the answer, such as the form. */
  readonly ref: (element: Element | null) => void;
  /**
   * Whether that element has been visible and still for 600 ms, so that the user can have seen what is answered. Before,
   * answers are ignored: give the controls `aria-disabled`, which keeps their focus.
   */
  readonly isReady: boolean;
  /**
   * Sends an answer and returns its outcome, or `undefined` if it failed or was ignored; `error` has the reason of a
   * failure.
   * @throws {Error} if no element has the `ref`
   */
  answer(content: AnswerContent): Promise<AnswerOutcome | undefined>;
};

const IDLE: AnswerProgress = { state: 'idle', content: undefined, outcome: undefined, error: undefined };

/**
 * The progress of the answers to the notifications of an inbox. It outlives the component that sends an answer: the
 * notification is shown as answered at once, and may leave the list, and come back if the answer is refused.
 */
class AnswerStore {
  readonly #progress = new Map<string, AnswerProgress>();
  readonly #listeners = new Map<string, Set<() => void>>();

  get(id: string): AnswerProgress {
    return this.#progress.get(id) ?? IDLE;
  }

  set(id: string, progress: AnswerProgress): void {
    this.#progress.set(id, progress);
    for (const notify of this.#listeners.get(id) ?? []) notify();
  }

  /** Deletes a result after the last component that shows it has unsubscribed. */
  subscribe(id: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      // Later, because React's strict mode subscribes again at once.
      queueMicrotask(() => {
        if (listeners.size > 0) return;
        if (this.#listeners.get(id) === listeners) this.#listeners.delete(id);
        if (!this.#listeners.has(id) && this.get(id).state !== 'sending') this.#progress.delete(id);
      });
    };
  }
}

const stores = new WeakMap<Inbox, AnswerStore>();

function storeOf(inbox: Inbox): AnswerStore {
  const store = stores.get(inbox) ?? new AnswerStore();
  stores.set(inbox, store);
  return store;
}

const nothing = () => undefined;
const never = () => false;

/** Returns whether an element has been visible and still for long enough while it showed a notification. */
function useStillness(element: Element | null, id: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => (element === null ? nothing : watchStillness(element, id, listener)),
    [element, id],
  );
  return useSyncExternalStore(subscribe, () => element !== null && wasStill(element, id), never);
}

/** Answers a notification. The state belongs to the notification: another one starts as `idle`. */
export function useAnswer({ id }: Pick<NotificationCard, 'id'>): UseAnswer {
  const inbox = useInboxClient();
  const [element, ref] = useState<Element | null>(null);
  const isReady = useStillness(element, id);
  const store = storeOf(inbox);
  const subscribe = useCallback((listener: () => void) => store.subscribe(id, listener), [store, id]);
  const getProgress = () => store.get(id);
  const progress = useSyncExternalStore(subscribe, getProgress, getProgress);
  const answer = useCallback(
    async (content: AnswerContent) => {
      if (element === null) throw new Error('Pass the `ref` of useAnswer to the element that sends answers.');
      if (!isStillNow(element, id)) {
        // Assistive technology can activate what is outside of the window.
        element.scrollIntoView({ block: 'nearest' });
        if (store.get(id).state !== 'sending')
          store.set(id, { state: 'ignored', content, outcome: undefined, error: undefined });
        return undefined;
      }
      const sending: AnswerProgress = { state: 'sending', content, outcome: undefined, error: undefined };
      store.set(id, sending);
      // The state is that of the latest answer, also if an earlier one returns after it.
      const finish = (progress: AnswerProgress) => store.get(id) === sending && store.set(id, progress);
      try {
        const outcome = await inbox.answer(id, content);
        finish(
          outcome.type === 'stored'
            ? { state: 'stored', content, outcome, error: undefined }
            : { state: 'alreadySettled', content, outcome, error: undefined },
        );
        return outcome;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        finish({ state: 'failed', content, outcome: undefined, error });
        return undefined;
      }
    },
    [inbox, store, id, element],
  );
  return { ...progress, ref, isReady, answer };
}
