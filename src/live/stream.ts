import { setTimeout as pause } from 'node:timers/promises';
import type { Viewer } from '../auth/viewer.ts';
import { UnauthenticatedError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Announcement, Hub, Subscriber, Topic } from './hub.ts';

/** What a stream shows, and how it finds what is new. */
export type Source<Event> = {
  topic: Topic;
  /** The user whose changes are shown. */
  userId: string;
  /** Fixes where the stream begins. */
  start?(): Promise<void>;
  /** Answers what is new since it was last called, in order, and whether there is more at once. */
  read(): Promise<{ events: readonly Event[]; hasMore: boolean }>;
  /** Whether an announced revision is already shown. */
  isKnown?(revision: number): boolean;
};

/**
 * Opens a stream; from here on nothing is missed.
 * @throws {RateLimitedError} where there are too many subscribers
 */
export async function openStream<Event>(
  hub: Hub,
  viewer: Viewer,
  source: Source<Event>,
  log: Log,
): Promise<AsyncIterableIterator<Event>> {
  const stream = new LiveStream(hub, viewer, source, log);
  try {
    await source.start?.();
    return stream;
  } catch (error) {
    stream.end();
    throw error;
  }
}

/** `setTimeout` overflows past this many milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** While the database is away, reading is tried again after this time, or as soon as announcements come again. */
const RETRY_MS = 1000;

/**
 * A stream of what is new in the database. It keeps no event that nobody has asked for: it only notes that something
 * is new, and reads when the client is ready, so a slow client gets the newest state instead of every step. It ends
 * with {@link UnauthenticatedError} when the viewer's token expires.
 *
 * An iterator of its own rather than a generator: a generator that waits is not freed when the client leaves.
 */
class LiveStream<Event> implements AsyncIterableIterator<Event>, Subscriber {
  readonly #hub: Hub;
  readonly #source: Source<Event>;
  readonly #log: Log;
  #expiry: NodeJS.Timeout | undefined;
  #ready: Event[] = [];
  #isStale = true;
  #hasEnded = false;
  #failure: Error | undefined;
  #proceed: () => void = () => undefined;

  /** @throws {RateLimitedError} where there are too many subscribers */
  constructor(hub: Hub, viewer: Viewer, source: Source<Event>, log: Log) {
    this.#hub = hub;
    this.#source = source;
    this.#log = log;
    hub.join(source.userId, this);
    this.#expireAt(viewer.expiresAt);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Event>> {
    for (;;) {
      const event = this.#hasEnded ? undefined : this.#ready.shift();
      if (event !== undefined) return { done: false, value: event };
      if (this.#failure !== undefined) {
        const failure = this.#failure;
        this.#failure = undefined;
        throw failure;
      }
      if (this.#hasEnded) return { done: true, value: undefined };
      if (this.#isStale) await this.#read();
      else await this.#woken();
    }
  }

  /** The client left. */
  async return(): Promise<IteratorResult<Event>> {
    this.end();
    return { done: true, value: undefined };
  }

  wake(announcement?: Announcement): void {
    if (announcement?.topic === 'user') this.end();
    else if (announcement === undefined || this.#concerns(announcement)) {
      this.#isStale = true;
      this.#proceed();
    }
  }

  end(): void {
    this.#hasEnded = true;
    this.#ready = [];
    this.#hub.leave(this.#source.userId, this);
    clearTimeout(this.#expiry);
    this.#proceed();
  }

  #concerns({ topic, revision }: Announcement): boolean {
    if (topic !== this.#source.topic) return false;
    return revision === undefined || !this.#source.isKnown?.(revision);
  }

  #expireAt(time: number): void {
    const left = time - Date.now();
    this.#expiry = setTimeout(
      () => {
        if (left > LONGEST_TIMER_MS) this.#expireAt(time);
        else this.#fail(new UnauthenticatedError(true, 'the token has expired'));
      },
      Math.min(left, LONGEST_TIMER_MS),
    );
  }

  #fail(failure: Error): void {
    this.#failure = failure;
    this.end();
  }

  #woken(): Promise<void> {
    return new Promise((proceed) => {
      this.#proceed = proceed;
    });
  }

  async #read(): Promise<void> {
    // Before reading: what is announced meanwhile may not be in the answer.
    this.#isStale = false;
    try {
      const { events, hasMore } = await this.#source.read();
      this.#ready.push(...events);
      this.#isStale ||= hasMore;
    } catch (error) {
      // Nothing is lost: it is read again once the database answers.
      this.#log.warn({ err: error }, 'reading for a subscription failed; trying again');
      const waiting = new AbortController();
      await Promise.race([
        this.#woken(),
        pause(RETRY_MS, undefined, { signal: waiting.signal }).catch(() => undefined),
      ]);
      waiting.abort();
      this.#isStale = true;
    }
  }
}
