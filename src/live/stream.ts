import { setTimeout as pause } from 'node:timers/promises';
import type { Viewer } from '../auth/viewer.ts';
import { ConflictError } from '../errors/gateway-errors.ts';
import type { Log } from '../log.ts';
import type { Revisions } from '../revisions/revisions.ts';
import type { Change, Hub, Subscriber } from './hub.ts';

/** The viewer of a stream and its dependencies. A `Context` can be passed. */
export type StreamContext = {
  readonly viewer: Viewer;
  readonly hub: Hub;
  readonly log: Log;
  /** Calls `leave` when the client disconnects, which may be before it reads the stream. */
  onLeave(leave: () => void): void;
};

/** Reads the events of a stream, one batch after another. */
export type StreamReader<Event> = {
  /** The user whose changes the events show, or `ALL_USERS`. */
  readonly userId: string;
  /** Finds where the stream begins. Returns what is delivered before the first batch. */
  start(): Promise<readonly Event[]>;
  /** Whether a change ends the stream. */
  isEndedBy(change: Change): boolean;
  /** Notes an announced change. Returns whether it may not have been read yet. */
  note(change: Change): boolean;
  /** Notes the user's current revisions. Returns whether there may be changes that have not been read yet. */
  noteRevisions(revisions: Revisions | undefined): boolean;
  /**
   * Reads the next batch. Returns `undefined` if the stream ends.
   * @throws {ConflictError} if the stream cannot be continued
   */
  read(): Promise<Batch<Event> | undefined>;
};

/** Events in order, and whether there are later ones. */
export type Batch<Event> = { readonly events: readonly Event[]; readonly hasMore: boolean };

/**
 * Opens a stream of changes. It misses no change that is committed after it has been opened, but may combine
 * several changes of a record into one event.
 * @throws {RateLimitedError} if there are too many subscribers
 */
export async function openStream<Event>(
  context: StreamContext,
  reader: StreamReader<Event>,
): Promise<AsyncIterableIterator<Event>> {
  const stream = new LiveStream(context, reader);
  context.hub.join(stream);
  context.onLeave(() => stream.end());
  try {
    await stream.start();
    return stream;
  } catch (error) {
    stream.end();
    throw error;
  }
}

/** A failed read is repeated after this delay, or at the next announcement or sweep. */
const RETRY_MS = 1000;

/**
 * A stream of events read from the database. It buffers one batch only: announcements just mark the stream as stale,
 * and the next batch is read when the client is ready. A slow client therefore receives the current state instead of
 * every step. After `fail`, a pending call of `next` throws the error; if none is pending, the following call does. The
 * stream ends when the user is deleted or the epoch of the database is renewed.
 *
 * It implements the iterator itself, because a generator that is waiting cannot be ended when the client disconnects.
 */
class LiveStream<Event> implements AsyncIterableIterator<Event>, Subscriber {
  readonly viewer: Viewer;
  readonly userId: string;
  readonly #hub: Hub;
  readonly #log: Log;
  readonly #reader: StreamReader<Event>;
  #ready: Event[] = [];
  #isStale = true;
  #hasFailedToRead = false;
  /** When the announcement of the oldest unread change was received; `undefined` if there is none. */
  #announcedAt: number | undefined;
  #hasEnded = false;
  #failure: Error | undefined;
  /** Ends the current wait for a change. */
  #wakeUp: (() => void) | undefined;
  /** Ends the current wait for a read. */
  #abandonRead: (() => void) | undefined;
  #lastCall: Promise<unknown> = Promise.resolve();

  constructor({ viewer, hub, log }: StreamContext, reader: StreamReader<Event>) {
    this.viewer = viewer;
    this.userId = reader.userId;
    this.#hub = hub;
    this.#log = log;
    this.#reader = reader;
  }

  async start(): Promise<void> {
    const first = await this.#reader.start();
    if (!this.#hasEnded) this.#ready = [...first];
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Calls run one after another: concurrent reads would return the same events. */
  next(): Promise<IteratorResult<Event>> {
    const result = this.#lastCall.then(() => this.#advance());
    this.#lastCall = result.catch(() => undefined);
    return result;
  }

  async return(): Promise<IteratorResult<Event>> {
    this.end();
    return { done: true, value: undefined };
  }

  wake(change: Change): void {
    if (this.#reader.isEndedBy(change)) this.end();
    else if (this.#reader.note(change)) {
      this.#announcedAt ??= performance.now();
      this.#markStale();
    }
  }

  catchUp(revisions: Revisions | undefined): void {
    if (this.#reader.noteRevisions(revisions)) this.#markStale();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.end();
  }

  end(): void {
    this.#hasEnded = true;
    this.#ready = [];
    this.#hub.leave(this);
    this.#wakeUp?.();
    this.#abandonRead?.();
  }

  #markStale(): void {
    this.#isStale = true;
    this.#wakeUp?.();
  }

  async #advance(): Promise<IteratorResult<Event>> {
    for (;;) {
      const event = this.#ready.shift();
      if (event !== undefined) return { done: false, value: event };
      if (this.#failure !== undefined) {
        const failure = this.#failure;
        this.#failure = undefined;
        throw failure;
      }
      if (this.#hasEnded) return { done: true, value: undefined };
      if (this.#hasFailedToRead) await this.#waitToRetry();
      else if (this.#isStale) await this.#readUnlessEnded();
      else await this.#waitForWakeUp();
    }
  }

  #waitForWakeUp(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve;
    });
  }

  /**
   * Reads one batch. If the stream ends meanwhile, does not wait for the read, because the database may be
   * unresponsive.
   */
  async #readUnlessEnded(): Promise<void> {
    const abandoned = new Promise<void>((resolve) => {
      this.#abandonRead = resolve;
    });
    await Promise.race([abandoned, this.#read()]);
    this.#abandonRead = undefined;
  }

  async #read(): Promise<void> {
    // Reset before the read, because a change announced during the read may be missing from its result.
    this.#isStale = false;
    const announcedAt = this.#announcedAt;
    this.#announcedAt = undefined;
    try {
      const batch = await this.#reader.read();
      if (batch === undefined) return this.end();
      if (this.#hasEnded) return;
      this.#ready = [...batch.events];
      this.#isStale ||= batch.hasMore;
      if (announcedAt !== undefined && batch.events.length > 0) {
        this.#hub.observeDelay((performance.now() - announcedAt) / 1000);
      }
    } catch (error) {
      if (this.#hasEnded) return;
      if (error instanceof ConflictError) return this.fail(error);
      this.#announcedAt = announcedAt;
      this.#hasFailedToRead = true;
      this.#log.warn({ err: error }, 'reading for a subscription failed; retrying');
    }
  }

  async #waitToRetry(): Promise<void> {
    this.#hasFailedToRead = false;
    const waiting = new AbortController();
    await Promise.race([
      this.#waitForWakeUp(),
      pause(RETRY_MS, undefined, { signal: waiting.signal }).catch(() => undefined),
    ]);
    waiting.abort();
    this.#isStale = true;
  }
}
