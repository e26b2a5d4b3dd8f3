import {
  type AnswerContent,
  type AnswerOutcome,
  GatewayError,
  type NotificationCard,
} from '@workspace-account/client';
import { useCallback, useState } from 'react';
import { useInboxClient } from './inbox-provider.tsx';

type Outcome<Type> = Extract<AnswerOutcome, { readonly type: Type }>;

/** How far an answer of this component has come. */
export type AnswerProgress =
  | { readonly state: 'idle' | 'sending'; readonly outcome: undefined; readonly error: undefined }
  | { readonly state: 'stored'; readonly outcome: Outcome<'stored'>; readonly error: undefined }
  | {
      /** Another answer, the expiry or the platform was first. `outcome` has the winner. */
      readonly state: 'alreadySettled';
      readonly outcome: Outcome<'alreadySettled'>;
      readonly error: undefined;
    }
  | { readonly state: 'failed'; readonly outcome: undefined; readonly error: GatewayError };

/** How far an answer has come, and a function that sends one. */
export type UseAnswer = AnswerProgress & {
  /** Sends an answer and returns its outcome, or `undefined` if it failed; `error` then has the reason. */
  answer(content: AnswerContent): Promise<AnswerOutcome | undefined>;
};

type Answering = { readonly id: string; readonly progress: AnswerProgress };

const IDLE: AnswerProgress = { state: 'idle', outcome: undefined, error: undefined };
const SENDING: AnswerProgress = { state: 'sending', outcome: undefined, error: undefined };

/** Answers a notification. The state belongs to the notification: another one starts as `idle`. */
export function useAnswer({ id }: Pick<NotificationCard, 'id'>): UseAnswer {
  const inbox = useInboxClient();
  const [latest, setLatest] = useState<Answering>({ id, progress: IDLE });
  const answer = useCallback(
    async (content: AnswerContent) => {
      const sending: Answering = { id, progress: SENDING };
      setLatest(sending);
      // The state is that of the latest answer, also if an earlier one returns after it.
      const finish = (progress: AnswerProgress) =>
        setLatest((current) => (current === sending ? { id, progress } : current));
      try {
        const outcome = await inbox.answer(id, content);
        finish(
          outcome.type === 'stored'
            ? { state: 'stored', outcome, error: undefined }
            : { state: 'alreadySettled', outcome, error: undefined },
        );
        return outcome;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        finish({ state: 'failed', outcome: undefined, error });
        return undefined;
      }
    },
    [inbox, id],
  );
  return { ...(latest.id === id ? latest.progress : IDLE), answer };
}
