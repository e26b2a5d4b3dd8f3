import { AccountEvents } from './generated/documents.ts';
import { hash } from './hash.ts';
import type { Connection, Store } from './inbox-types.ts';
import { Observable } from './observable.ts';
import { backoff, MAX_DELAY_SECONDS, retry } from './retries.ts';
import type { AccountSession } from './session.ts';
import { type SharedHandlers, shareStream } from './shared-stream.ts';

/** The stream closes so long after its last user left: route changes, and React's strict mode, do not reopen it. */
const LINGER_MS = 1000;

/** Loads wait so long for the stream, so that no change is missed between them. */
const START_MS = 2000;

const IDLE: Connection = { state: 'idle', retryAt: undefined, error: undefined };
const CONNECTING: Connection = { ...IDLE, state: 'connecting' };

/** The stream of an account's events, which is open while it is used. */
export type LiveEvents = {
  readonly connection: Store<Connection>;
  /** Opens the stream until the returned function is called. */
  hold(): () => void;
  /** Resolves when events arrive, or the stream fails or takes long to open. */
  follows(): Promise<void>;
  /** Leaves the stream of one account, and opens that of the next one if it is used. */
  switchAccount(): void;
  signOut(): void;
};

/** Creates a stream, which requests nothing before it is used. */
export function createLiveEvents(
  session: AccountSession,
  { onEvents, onGap, waker }: Omit<SharedHandlers, 'onConnection'>,
): LiveEvents {
  const connection = new Observable(IDLE);
  let holders = 0;
  let cursor: string | undefined;
  let open: AbortController | undefined;
  let linger: ReturnType<typeof setTimeout> | undefined;

  function start(): void {
    const controller = new AbortController();
    open = controller;
    globalThis.addEventListener?.('online', wake);
    globalThis.addEventListener?.('offline', wake);
    const signal = AbortSignal.any([controller.signal, session.signal]);
    connection.set(CONNECTING);
    // It only ends when it is aborted.
    join(signal).catch(() => undefined);
  }

  /** Joins the stream of the account of the token, which all tabs share. */
  async function join(signal: AbortSignal): Promise<void> {
    const account = await retry(
      () => session.identify(),
      (_error, failures) => backoff(failures, MAX_DELAY_SECONDS),
      signal,
      (error) => setConnection({ state: 'waiting', retryAt: error.retryAt, error }),
      waker,
    );
    signal.throwIfAborted();
    const name = `workspace-account:${hash(JSON.stringify([session.address, account, AccountEvents.text]))}`;
    const handlers: SharedHandlers = {
      onEvents(events) {
        cursor = events.at(-1)?.cursor ?? cursor;
        onEvents(events);
      },
      onGap,
      onConnection: setConnection,
      waker,
    };
    shareStream(name, session, cursor, handlers, signal);
  }

  function setConnection(next: Connection): void {
    const before = connection.get();
    // Another attempt may fail too, so it does not hide that and why there is no connection.
    const isAttempt = next.state === 'connecting' && before.error !== undefined;
    const { state, retryAt, error } = isAttempt ? { ...before, retryAt: undefined } : next;
    const isSame = state === before.state && retryAt === before.retryAt && error?.code === before.error?.code;
    if (!isSame) connection.set({ state, retryAt, error });
  }

  function wake(): void {
    waker.notify();
  }

  function stop(): void {
    clearTimeout(linger);
    globalThis.removeEventListener?.('online', wake);
    globalThis.removeEventListener?.('offline', wake);
    open?.abort();
    open = undefined;
  }

  return {
    connection,
    hold() {
      clearTimeout(linger);
      holders += 1;
      if (open === undefined && connection.get().state !== 'signedOut') start();
      return () => {
        holders -= 1;
        if (holders > 0) return;
        linger = setTimeout(() => {
          stop();
          connection.set(IDLE);
        }, LINGER_MS);
      };
    },
    follows: () =>
      new Promise((resolve) => {
        const timer = setTimeout(end, START_MS);
        const unsubscribe = connection.subscribe(check);
        check();
        function check(): void {
          if (connection.get().state !== 'connecting') end();
        }
        function end(): void {
          clearTimeout(timer);
          unsubscribe();
          resolve();
        }
      }),
    switchAccount() {
      stop();
      cursor = undefined;
      if (holders > 0) start();
      else connection.set(IDLE);
    },
    signOut() {
      stop();
      connection.set({ ...IDLE, state: 'signedOut' });
    },
  };
}
