import { setTimeout as pause } from 'node:timers/promises';
import type { Viewer } from '../auth/viewer.ts';
import type { EntityManager } from '../database/database.ts';
import type { Log } from '../log.ts';
import { findRevision, type Revisions } from '../revisions/revisions.ts';
import type { Change, Hub, Subscriber, Topic } from './hub.ts';

/** What a stream shows of a user, and how it finds what is new. */
export type Source<Event> = {
  /** The user whose changes these are. */
  readonly userId: string;
  readonly topic: Exclude<Topic, 'user'>;
  /** The revision behind which the stream begins. */
  startsAt(state: Revisions | undefined): number;
  /**
   * What is new behind a revision, in order, and the revision up to which it is everything; more is read next. It is
   * told how far the user's changes have come: all up to there can be read, and later ones are announced.
   */
  read(
    after: number,
    state: Revisions | undefined,
  ): Promise<{ readonly events: readonly Event[]; readonly seen: number }>;
};

/** The viewer of a stream, and what the stream needs. `Context` is one. */
export type StreamContext = {
  readonly em: EntityManager;
  readonly viewer: Viewer;
  readonly hub: Hub;
  readonly log: Log;
  /** Tells when the client leaves, which can be before it takes the stream. */
  onLeave(leave: () => void): void;
};

/**
 * Opens a stream of a user's changes; from here on nothing is missed.
 * @throws {RateLimitedError} where there are too many subscribers
 */
export async function openStream<Event>(
  context: StreamContext,
  source: Source<Event>,
): Promise<AsyncIterableIterator<Event>> {
  const stream = new LiveStream(context, source);
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

/** While the database is unreachable, reading is tried again after this time, or at the next announcement or sweep. */
const RETRY_MS = 1000;

/**
 * A stream of what is new in the database. It keeps no event that nobody has asked for: it only notes that something
 * is new, and reads when the client is ready, so a slow client gets the newest state instead of every step. It ends
 * with an error when it is failed, and without one when the user is deleted.
 *
 * An iterator of its own rather than a generator: a generator that waits is not freed when the client leaves.
 */
class LiveStream<Event> implements AsyncIterableIterator<Event>, Subscriber {
  readonly #context: StreamContext;
  readonly #source: Source<Event>;
  /** Names one life of the user's records, if there are any. */
  #epoch: string | undefined;
  #seen = 0;
  #ready: Event[] = [];
  #isStale = true;
  #isReading = false;
  /** When the oldest change that is not read yet was announced; undefined if a sweep found it. */
  #announcedAt: number | undefined;
  #hasEnded = false;
  #failure: Error | undefined;
  /** Goes on with a call that waits for something new, or for a read that an end makes pointless. */
  #proceed: (() => void) | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(context: StreamContext, source: Source<Event>) {
    this.#context = context;
    this.#source = source;
  }

  get viewer(): Viewer {
    return this.#context.viewer;
  }

  get userId(): string {
    return this.#source.userId;
  }

  async start(): Promise<void> {
    const state = await this.#state();
    this.#epoch = state?.epoch;
    this.#seen = this.#source.startsAt(state);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Callers take turns: two that read at once would both return the same events. */
  next(): Promise<IteratorResult<Event>> {
    const result = this.#turn.then(() => this.#advance());
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** The client left. */
  async return(): Promise<IteratorResult<Event>> {
    this.end();
    return { done: true, value: undefined };
  }

  wake({ topic, revision }: Change): void {
    // Nothing was ever stored of a user without an epoch: there is no other life to find.
    if (topic === 'user' && this.#epoch === undefined) this.end();
    else if (topic === 'user' || (topic === this.#source.topic && revision > this.#seen)) {
      this.#announcedAt ??= performance.now();
      this.#look();
    }
  }

  compare(state: Revisions | undefined): void {
    const reached = state?.[this.#source.topic] ?? 0;
    if (state?.epoch !== this.#epoch || reached > this.#seen) this.#look();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.end();
  }

  end(): void {
    this.#hasEnded = true;
    this.#ready = [];
    this.#context.hub.leave(this);
    this.#proceed?.();
  }

  #look(): void {
    this.#isStale = true;
    if (!this.#isReading) this.#proceed?.();
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
      if (this.#isStale) await this.#readOrEnd();
      else await this.#woken();
    }
  }

  #woken(): Promise<void> {
    return new Promise((proceed) => {
      this.#proceed = proceed;
    });
  }

  /** An end does not wait for a database that is silent. */
  async #readOrEnd(): Promise<void> {
    this.#isReading = true;
    await Promise.race([this.#woken(), this.#read()]);
    this.#isReading = false;
  }

  async #read(): Promise<void> {
    // Before reading: what is announced meanwhile may not be in the answer.
    this.#isStale = false;
    const announcedAt = this.#announcedAt;
    this.#announcedAt = undefined;
    try {
      const state = await this.#state();
      // A deletion is announced, but may be overtaken by what came after it.
      if (this.#isAnotherLife(state)) return this.end();
      const reached = state?.[this.#source.topic] ?? 0;
      if (reached <= this.#seen) return;
      const { events, seen } = await this.#source.read(this.#seen, state);
      if (this.#hasEnded) return;
      this.#seen = seen;
      this.#ready = [...events];
      this.#isStale ||= seen < reached;
      if (announcedAt !== undefined && events.length > 0) {
        this.#context.hub.delivered((performance.now() - announcedAt) / 1000);
      }
    } catch (error) {
      if (this.#hasEnded) return;
      this.#announcedAt = announcedAt;
      // Nothing is lost: it is read again once the database answers.
      this.#context.log.warn({ err: error }, 'reading for a subscription failed; trying again');
      await this.#retry();
    }
  }

  async #retry(): Promise<void> {
    this.#isReading = false;
    const waiting = new AbortController();
    await Promise.race([
      this.#woken(),
      pause(RETRY_MS, undefined, { signal: waiting.signal }).catch(() => undefined),
    ]);
    waiting.abort();
    this.#isStale = true;
  }

  #state(): Promise<Revisions | undefined> {
    return findRevision(this.#context.em, this.userId);
  }

  #isAnotherLife(state: Revisions | undefined): boolean {
    const earlier = this.#epoch;
    this.#epoch = state?.epoch;
    return earlier !== undefined && earlier !== this.#epoch;
  }
}
