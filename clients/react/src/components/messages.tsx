import type { GatewayError, Inbox, NotificationCard } from '@workspace-account/client';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useInboxClient } from '../inbox-provider.tsx';
import { useArrivals } from '../use-arrivals.ts';
import type { Changed } from '../use-change.ts';
import { Button } from './controls.tsx';
import { useTexts } from './texts.tsx';

type Message = {
  text: string;
  isProblem?: boolean;
  undo?: () => unknown;
  /** Takes the place of the message with the same topic. */
  topic?: string;
};

/** Each message has its own time, also if its text is that of the one before. */
type NumberedMessage = Message & { number: number };

type Messages = {
  show(message: Message): void;
  /** Takes what `undoLast` undoes before there is a message. */
  offerUndo(undo: () => unknown): void;
  undoLast(): void;
};

/** More messages push out the oldest. */
const MAX_MESSAGES = 3;

const MessagesContext = createContext<Messages | undefined>(undefined);

/** Returns functions that show a short message, and that undo the latest change that can be undone. */
export function useMessages(): Messages {
  const messages = useContext(MessagesContext);
  if (messages === undefined) throw new Error('useMessages requires <InboxMessages> above it.');
  return messages;
}

/** Returns a function that waits for a change, and shows a message if it failed. Its result says whether it succeeded. */
export function useReport(): <Value>(change: Promise<Changed<Value>>) => Promise<Changed<Value>> {
  const { show } = useMessages();
  const { t, describeError } = useTexts();
  return async (change) => {
    const changed = await change;
    if (changed.error)
      show({ text: t('notSaved', { reason: describeFailure(changed.error) }), isProblem: true });
    return changed;
  };

  function describeFailure(error: GatewayError): string {
    const { retryAfter: seconds } = error;
    return `${describeError(error)} ${seconds === undefined ? '' : t('tryAgainIn', { seconds })}`.trim();
  }
}

/** How arrivals are announced, beside a message. */
export type AnnouncementOptions = {
  /** Counts arrivals in the title of a page in the background. Default: true. */
  readonly title?: boolean;
  /** The URL of a sound, which one of the open tabs plays. */
  readonly sound?: string;
};

type InboxMessagesProps = AnnouncementOptions & { readonly children?: ReactNode };

/**
 * Shows messages of the components below it, announces arrivals and settlements, and keeps messages while the app shows
 * another page. Without it, each component shows its own, and the first one announces.
 */
export function InboxMessages({ children, ...announcements }: InboxMessagesProps) {
  const [shown, setShown] = useState<readonly NumberedMessage[]>([]);
  const lastUndo = useRef<() => unknown>(undefined);
  const next = useRef(0);
  const show = useCallback((message: Message) => {
    next.current += 1;
    const undo = message.undo && once(message.undo);
    const numbered = { ...message, ...(undo && { undo }), number: next.current };
    if (undo) lastUndo.current = undo;
    setShown((before) =>
      [...before.filter(({ topic }) => topic === undefined || topic !== message.topic), numbered].slice(
        -MAX_MESSAGES,
      ),
    );
  }, []);
  const remove = (number: number) => setShown((before) => before.filter((one) => one.number !== number));
  const undoLast = useCallback(() => {
    const undo = lastUndo.current;
    lastUndo.current = undefined;
    setShown((before) => before.filter((one) => one.undo === undefined || one.undo !== undo));
    undo?.();
  }, []);
  const offerUndo = useCallback((undo: () => unknown) => {
    lastUndo.current = undo;
  }, []);
  const messages = useMemo(() => ({ show, offerUndo, undoLast }), [show, offerUndo, undoLast]);
  return (
    <MessagesContext.Provider value={messages}>
      {children}
      <Announcer {...announcements} />
      <div className="wa wa-messages" role="status">
        {shown.map((message) => (
          <MessageItem key={message.number} message={message} close={() => remove(message.number)} />
        ))}
      </div>
    </MessagesContext.Provider>
  );
}

function once(act: () => unknown): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

/** Provides messages, unless something above does. */
export function WithMessages({ children, ...announcements }: InboxMessagesProps) {
  const isProvided = useContext(MessagesContext) !== undefined;
  return isProvided ? children : <InboxMessages {...announcements}>{children}</InboxMessages>;
}

/** A message until its animation ends, which pauses while the pointer or the focus is on it. */
function MessageItem({ message, close }: { message: NumberedMessage; close(): void }) {
  const { t } = useTexts();
  const leave = () => {
    // Messages are behind everything else, so the heading before them is not where the user was.
    document.querySelector<HTMLElement>('.wa-title, h1[tabindex]')?.focus();
    close();
  };
  const undo = () => {
    leave();
    message.undo?.();
  };
  return (
    <div
      className="wa-message"
      data-problem={message.isProblem}
      onAnimationEnd={({ currentTarget, target }) => target === currentTarget && close()}
    >
      <p dir="auto">{message.text}</p>
      {message.undo && <Button label={t('undo')} onClick={undo} />}
      <Button label={t('closeMessage')} icon="x" onClick={leave} />
    </div>
  );
}

/** Announces what arrives and what is settled elsewhere, many at once in one message. Only one per inbox does. */
function Announcer({ title: countsInTitle = true, sound }: AnnouncementOptions) {
  const { t, describeSettlement } = useTexts();
  const { show } = useMessages();
  const isFirst = useIsFirst();
  const { count, clear } = useArrivals({
    onArrived(cards) {
      announce(
        'arrived',
        describe(cards, 'arrivedMany', ({ title }) => t('arrivedOne', { title })),
      );
      if (sound !== undefined) void playInOneTab(sound);
    },
    onSettled: (cards) => announce('settled', describe(cards, 'settledMany', describeSettlement)),
  });

  function announce(topic: string, text: string): void {
    if (isFirst()) show({ topic, text });
  }

  function describe(
    cards: readonly NotificationCard[],
    many: 'arrivedMany' | 'settledMany',
    describeOne: (card: NotificationCard) => string,
  ): string {
    const [first] = cards;
    return first !== undefined && cards.length === 1 ? describeOne(first) : t(many, { count: cards.length });
  }

  useEffect(() => {
    const clearIfVisible = () => document.visibilityState === 'visible' && clear();
    clearIfVisible();
    document.addEventListener('visibilitychange', clearIfVisible);
    return () => document.removeEventListener('visibilitychange', clearIfVisible);
  });
  useEffect(() => {
    if (!countsInTitle || count === 0 || !isFirst()) return undefined;
    const { title } = document;
    document.title = `(${count}) ${title}`;
    return () => {
      document.title = title;
    };
  }, [countsInTitle, count, isFirst]);
  return null;
}

/** The mounted announcers of each inbox, in the order in which they were mounted. */
const announcers = new WeakMap<Inbox, Set<object>>();

/** Returns a function that returns whether this announcer of the inbox was mounted before the others. */
function useIsFirst(): () => boolean {
  const inbox = useInboxClient();
  const self = useRef(undefined);
  useEffect(() => {
    const mounted = announcers.get(inbox) ?? new Set();
    announcers.set(inbox, mounted.add(self));
    return () => void mounted.delete(self);
  }, [inbox]);
  return useCallback(() => announcers.get(inbox)?.values().next().value === self, [inbox]);
}

/** All tabs get the events of an arrival within this time. */
const SOUND_MS = 1000;

async function playInOneTab(url: string): Promise<void> {
  const play = async () => {
    await new Audio(url).play();
    await new Promise((resolve) => setTimeout(resolve, SOUND_MS));
  };
  const name = `workspace-account:${url}`;
  const isPlayed = navigator.locks?.request(name, { ifAvailable: true }, (lock) => lock && play()) ?? play();
  // Browsers refuse sounds before the first click in a page.
  await isPlayed.catch(() => undefined);
}
