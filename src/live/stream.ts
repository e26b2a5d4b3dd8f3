import { setTimeout as pause } from 'node:timers/promises';
import type { Viewer } from '../auth/viewer.ts';
import type { EntityManager } from '../database/database.ts';
import { GoingAwayError, UnauthenticatedError } from '../errors.ts';
import type { Log } from '../log.ts';
import { findRevision, type Revisions } from '../revisions/revisions.ts';
import type { Announcement, Hub, Subscriber, Topic } from './hub.ts';

/** What a stream shows of a user, and how it finds what is new. */
export type Source<Event> = {
  topic: Topic;
  /** Fixes where the stream begins; told how far the user's changes have come. */
  start?(state: Revisions | undefined): void;
  /**
   * Answers what is new since it was last called, in order, and whether there is more at once. It is told how far
   * the user's changes have come: all up to there can be read, and later ones are announced.
   */
  read(state: Revisions | undefined): Promise<{ events: readonly Event[]; hasMore: boolean }>;
  /** Whether an announced revision is already shown. */
  isKnown?(revision: number): boolean;
};

/** Whose stream it is, and what it lives on. */
export type Audience = {
  em: EntityManager;
  viewer: Viewer;
  hub: Hub;
  log: Log;
  /** Tells when the client leaves, which can be before it takes the stream. */
  onLeave(leave: () => void): void;
};

/**
 * Opens a stream of the viewer's own changes; from here on nothing is missed.
 * @throws {RateLimitedError} where there are too many subscribers
 */
export async function openStream<Event>(
  audience: Audience,
  source: Source<Event>,
): Promise<AsyncIterableIterator<Event>> {
  const stream = new LiveStream(audience, source);
  try {
    await stream.start();
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
 * with {@link UnauthenticatedError} when the viewer's token expires or its key leaves the key set, with {@link GoingAwayError} when the gateway
 * stops, and without an error when the user is deleted.
 *
 * An iterator of its own rather than a generator: a generator that waits is not freed when the client leaves.
 */
class LiveStream<Event> implements AsyncIterableIterator<Event>, Subscriber {
  readonly #audience: Audience;
  readonly #source: Source<Event>;
  #expiry: NodeJS.Timeout | undefined;
  /** The epoch of the user's revisions, if there are any. */
  #epoch: string | undefined;
  #ready: Event[] = [];
  #isStale = true;
  /** When the oldest change that is not read yet was announced; undefined after a gap. */
  #announcedAt: number | undefined;
  #hasEnded = false;
  #failure: Error | undefined;
  #proceed: () => void = () => undefined;
  #abandon: () => void = () => undefined;
  #turn: Promise<unknown> = Promise.resolve();

  /** @throws {RateLimitedError} where there are too many subscribers */
  constructor(audience: Audience, source: Source<Event>) {
    this.#audience = audience;
    this.#source = source;
    this.#expireAt(audience.viewer.expiresAt);
    try {
      audience.hub.join(audience.viewer.userId, this);
    } catch (error) {
      clearTimeout(this.#expiry);
      throw error;
    }
    audience.onLeave(() => this.end());
  }

  async start(): Promise<void> {
    const state = await this.#state();
    this.#epoch = state?.epoch;
    this.#source.start?.(state);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Callers take turns: two that read at once would both answer the same events. */
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

  wake(announcement?: Announcement): void {
    if (announcement?.topic === 'user') this.end();
    else if (announcement === undefined || this.#concerns(announcement)) {
      this.#isStale = true;
      if (announcement !== undefined) this.#announcedAt ??= performance.now();
      this.#proceed();
    }
  }

  goAway(): void {
    this.#fail(new GoingAwayError());
  }

  get signedBy(): string {
    return this.#audience.viewer.signedBy;
  }

  withdraw(): void {
    this.#fail(new UnauthenticatedError(true, 'the key that signed the token has left the key set'));
  }

  end(): void {
    this.#hasEnded = true;
    this.#ready = [];
    this.#audience.hub.leave(this.#audience.viewer.userId, this);
    clearTimeout(this.#expiry);
    this.#proceed();
    this.#abandon();
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
  #readOrEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#abandon = resolve;
      void this.#read().then(resolve);
    });
  }

  async #read(): Promise<void> {
    // Before reading: what is announced meanwhile may not be in the answer.
    this.#isStale = false;
    const announcedAt = this.#announcedAt;
    this.#announcedAt = undefined;
    try {
      const state = await this.#state();
      // Their end is announced, but not to a gateway that cannot listen just then.
      if (this.#isAnotherEpoch(state)) return this.end();
      const { events, hasMore } = await this.#source.read(state);
      if (this.#hasEnded) return;
      this.#ready.push(...events);
      if (announcedAt !== undefined && events.length > 0) {
        this.#audience.hub.delivered((performance.now() - announcedAt) / 1000);
      }
      this.#isStale ||= hasMore;
    } catch (error) {
      if (this.#hasEnded) return;
      this.#announcedAt = announcedAt;
      // Nothing is lost: it is read again once the database answers.
      this.#audience.log.warn({ err: error }, 'reading for a subscription failed; trying again');
      const waiting = new AbortController();
      await Promise.race([
        this.#woken(),
        pause(RETRY_MS, undefined, { signal: waiting.signal }).catch(() => undefined),
      ]);
      waiting.abort();
      this.#isStale = true;
    }
  }

  #state(): Promise<Revisions | undefined> {
    return findRevision(this.#audience.em, this.#audience.viewer.userId);
  }

  #isAnotherEpoch(state: Revisions | undefined): boolean {
    const earlier = this.#epoch;
    this.#epoch = state?.epoch;
    return earlier !== undefined && earlier !== this.#epoch;
  }
}
