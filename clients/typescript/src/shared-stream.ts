import type { AccountEvent } from './account-events.ts';
import { type EventHandlers, followEvents } from './follow-events.ts';
import { type ErrorFields, GatewayError } from './gateway-error.ts';
import type { Connection } from './inbox-types.ts';
import { sleep } from './retries.ts';
import type { Session } from './transport.ts';

// One tab, the leader, holds a lock and streams; it passes everything on to the others. When it is closed, or has no
// valid token, the lock goes to another tab. When it hangs or is frozen, another one steals the lock. Either resumes
// after the last event that it received.

/** How often the leader reports that it is alive. */
const HEARTBEAT_MS = 3000;
/** How often the others look for it, and after how much silence they ask, and then take over. */
const CHECK_MS = 1000;
const ASK_MS = 6000;
const TAKEOVER_MS = 10_000;
/** Errors of a tab's own token. Another tab may have a valid one. */
const TOKEN_ERRORS: readonly (string | undefined)[] = ['NO_TOKEN', 'UNAUTHENTICATED'];
/** Time to reply. The timers of hidden tabs run once a minute, but they reply to messages at once. */
const REPLY_MS = 2000;

/** The latest batch of events: leaders have increasing terms, and number their batches. */
type Position = { readonly term: number; readonly batch: number };

type SharedConnection = Omit<Connection, 'error'> & { readonly error: ErrorFields | undefined };

type Message =
  | { readonly type: 'hello' }
  | { readonly type: 'retry' }
  | (Position & {
      readonly type: 'position';
      readonly cursor: string | undefined;
      readonly connection: SharedConnection;
      /** What the leader had received when it took over. */
      readonly previous: Position | undefined;
    })
  | (Position & { readonly type: 'events'; readonly events: readonly AccountEvent[] });

/** Whom a shared stream serves. */
export type SharedHandlers = EventHandlers & {
  /** Changes were missed: what is shown must be loaded again. */
  onGap(): void;
};

/** Whether the tabs of this browser can share a stream. Pages without HTTPS have no locks. */
const canShare = () => typeof BroadcastChannel === 'function' && globalThis.navigator?.locks !== undefined;

/**
 * Receives the events of an account until aborted, over a stream that all tabs with the same name share. Resumes after a
 * cursor, if this tab streams.
 */
export function shareStream(
  name: string,
  session: Session,
  after: string | undefined,
  handlers: SharedHandlers,
  signal: AbortSignal,
): void {
  if (canShare()) new SharedStream(name, session, after, handlers, signal);
  else void followEvents(session, after, handlers, signal);
}

class SharedStream {
  readonly #name: string;
  readonly #session: Session;
  readonly #handlers: SharedHandlers;
  readonly #signal: AbortSignal;
  readonly #channel: BroadcastChannel;
  #cursor: string | undefined;
  #position: Position | undefined;
  #previous: Position | undefined;
  #connection: Connection = { state: 'connecting', retryAt: undefined, error: undefined };
  #isLeading = false;
  /** When this tab last heard of the leader, and asked for it since. */
  #heardAt = Date.now();
  #askedAt: number | undefined;
  /** Ends the wait for the lock, in order to steal it. */
  #waiting = new AbortController();
  #isStealing = false;
  /** How often in a row this tab had no valid token, and when it may lead again. */
  #refusals = 0;
  #leadsFrom = 0;

  constructor(
    name: string,
    session: Session,
    after: string | undefined,
    handlers: SharedHandlers,
    signal: AbortSignal,
  ) {
    this.#name = name;
    this.#session = session;
    this.#cursor = after;
    this.#handlers = handlers;
    this.#signal = signal;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#receive(data);
    const timer = setInterval(() => this.#look(), CHECK_MS);
    const removeListener = handlers.waker.add(() => {
      if (!this.#isLeading) this.#post({ type: 'retry' });
    });
    signal.addEventListener('abort', () => {
      clearInterval(timer);
      removeListener();
      this.#channel.close();
      this.#waiting.abort();
    });
    this.#ask();
    void this.#compete();
  }

  /** Waits for the lock, leads while this tab has it, and waits again if another tab stole it. */
  async #compete(): Promise<void> {
    while (!this.#signal.aborted) {
      const leading = new AbortController();
      const signal = AbortSignal.any([this.#signal, leading.signal]);
      this.#waiting = new AbortController();
      const options = this.#isStealing ? { steal: true } : { signal: this.#waiting.signal };
      this.#isStealing = false;
      try {
        await navigator.locks.request(this.#name, options, () => this.#lead(leading, signal));
      } catch {
        // The lock was stolen, or this tab is about to steal it. Otherwise the page may not use locks.
        if (!this.#isLeading && !this.#waiting.signal.aborted) await this.#lead(leading, signal);
      }
      leading.abort();
      this.#isLeading = false;
      this.#heardAt = Date.now();
      await sleep(Math.max(0, this.#leadsFrom - Date.now()), this.#signal).catch(() => undefined);
    }
  }

  /** Streams until aborted. Aborts the lead if this tab has no valid token. */
  async #lead(leading: AbortController, signal: AbortSignal): Promise<void> {
    this.#isLeading = true;
    this.#isStealing = false;
    this.#previous = this.#position;
    this.#position = { term: Math.max(Date.now(), (this.#position?.term ?? 0) + 1), batch: 0 };
    const heartbeat = setInterval(() => this.#announce(), HEARTBEAT_MS);
    await followEvents(
      this.#session,
      this.#cursor,
      {
        onEvents: (events) => this.#pass(events),
        waker: this.#handlers.waker,
        onConnection: (connection) => {
          this.#connection = connection;
          this.#announce();
          this.#handlers.onConnection(connection);
          if (connection.state === 'live') this.#refusals = 0;
          if (!TOKEN_ERRORS.includes(connection.error?.code)) return;
          this.#refusals += 1;
          this.#leadsFrom = connection.retryAt ?? 0;
          leading.abort();
        },
      },
      signal,
      this.#refusals,
    );
    clearInterval(heartbeat);
  }

  /** Passes events on to the other tabs, and applies them here. */
  #pass(events: readonly AccountEvent[]): void {
    const { term, batch } = this.#position ?? { term: 0, batch: 0 };
    this.#position = { term, batch: batch + 1 };
    this.#cursor = events.at(-1)?.cursor ?? this.#cursor;
    this.#post({ type: 'events', ...this.#position, events });
    this.#handlers.onEvents(events);
  }

  #announce(): void {
    if (this.#position === undefined) return;
    const connection = { ...this.#connection, error: this.#connection.error?.toFields() };
    const [cursor, previous] = [this.#cursor, this.#previous];
    this.#post({ type: 'position', ...this.#position, cursor, connection, previous });
  }

  #ask(): void {
    this.#askedAt = Date.now();
    this.#post({ type: 'hello' });
  }

  #post(message: Message): void {
    if (!this.#signal.aborted) this.#channel.postMessage(message);
  }

  #receive(message: Message): void {
    if (message.type === 'hello' || message.type === 'retry') {
      if (!this.#isLeading) return;
      if (message.type === 'hello') this.#announce();
      else this.#handlers.waker.notify();
      return;
    }
    // A leader that was robbed while it was frozen.
    if (this.#isLeading || message.term < (this.#position?.term ?? 0)) return;
    this.#heardAt = Date.now();
    this.#askedAt = undefined;
    this.#isStealing = false;
    const isNext = this.#continues(message);
    this.#position = { term: message.term, batch: message.batch };
    if (message.type === 'events') {
      this.#cursor = message.events.at(-1)?.cursor ?? this.#cursor;
      this.#handlers.onEvents(message.events);
    } else {
      this.#cursor = message.cursor ?? this.#cursor;
    }
    if (!isNext) this.#handlers.onGap();
    if (message.type === 'position') {
      const { error } = message.connection;
      this.#connection = { ...message.connection, error: error && new GatewayError(error) };
      this.#handlers.onConnection(this.#connection);
    }
  }

  /** Whether no batch was sent between what this tab has received and a message. */
  #continues(message: Exclude<Message, { type: 'hello' | 'retry' }>): boolean {
    const position = this.#position;
    if (position === undefined) return false;
    if (message.term === position.term) {
      return message.batch === position.batch + (message.type === 'events' ? 1 : 0);
    }
    // The new leader repeats what came after its previous position.
    const { previous, batch } = message.type === 'position' ? message : { previous: undefined, batch: 0 };
    return batch === 0 && previous?.term === position.term && previous.batch <= position.batch;
  }

  /** Looks for the leader, and takes over from one that has not reported for too long and does not reply. */
  #look(): void {
    const now = Date.now();
    const silence = now - this.#heardAt;
    if (this.#isLeading || silence < ASK_MS) return;
    if (this.#askedAt === undefined) this.#ask();
    else if (silence >= TAKEOVER_MS && now - this.#askedAt >= REPLY_MS) {
      this.#isStealing = true;
      this.#waiting.abort();
    }
  }
}
