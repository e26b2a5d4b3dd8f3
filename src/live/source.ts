import type { Database } from '../database/database.ts';
import { findRevisions, type Revisions } from '../revisions/revisions.ts';
import type { Change, Topic } from './hub.ts';
import type { Batch, StreamReader } from './stream.ts';

/** An event, with the user's revision of its topic after the change. */
export type RevisionEvent = { readonly revision: number };

/** Events of one topic of one user, read from the database. */
export type Source<Event extends RevisionEvent> = {
  readonly topic: Exclude<Topic, 'user' | 'platformEvents'>;
  /** Returns the revision after which a stream of this source alone begins. */
  getStartRevision(revisions: Revisions | undefined): number;
  /**
   * Reads the next events after a revision, in order. `revisions` are the user's current revisions: changes up to them
   * are committed, and later changes will be announced. Returns the events and `seen`, the revision up to which they
   * are complete.
   */
  read(
    after: number,
    revisions: Revisions | undefined,
  ): Promise<{ readonly events: readonly Event[]; readonly seen: number }>;
};

/** How far a stream has been read: the epoch of the user's revisions, and the last revision of each source. */
export type Position = {
  /** `undefined` if the user had no revisions. */
  readonly epoch: string | undefined;
  readonly seen: readonly number[];
};

/** The sources of a stream, and what it delivers of their events. */
export type StreamPlan<Event extends RevisionEvent, Delivered> = {
  /** The user whose changes the events show. */
  readonly userId: string;
  readonly sources: readonly Source<Event>[];
  /** Returns the revisions after which the sources begin, and what is delivered before their events. */
  start(revisions: Revisions | undefined): {
    readonly seen: readonly number[];
    readonly first: readonly Delivered[];
  };
  /** Returns what is delivered for an event. `position` is that of the stream after the event. */
  deliver(event: Event, position: Position): Delivered;
};

/** Creates a reader of one source, which delivers its events as they are. */
export function createSourceReader<Event extends RevisionEvent>(
  database: Database,
  userId: string,
  source: Source<Event>,
): SourceReader<Event, Event> {
  return new SourceReader(database, {
    userId,
    sources: [source],
    start: (revisions) => ({ seen: [source.getStartRevision(revisions)], first: [] }),
    deliver: (event) => event,
  });
}

/** Reads the events of one user's sources, one batch after another. */
export class SourceReader<Event extends RevisionEvent, Delivered> implements StreamReader<Delivered> {
  readonly userId: string;
  readonly #database: Database;
  readonly #plan: StreamPlan<Event, Delivered>;
  /** The epoch of the user's revisions at the last read; `undefined` if the user had no revisions. */
  #epoch: string | undefined;
  /** The last revision that was read of each source. */
  #seen: number[] = [];

  constructor(database: Database, plan: StreamPlan<Event, Delivered>) {
    this.#database = database;
    this.#plan = plan;
    this.userId = plan.userId;
  }

  async start(): Promise<readonly Delivered[]> {
    const revisions = await this.#findRevisions();
    const { seen, first } = this.#plan.start(revisions);
    this.#epoch = revisions?.epoch;
    this.#seen = [...seen];
    return first;
  }

  /**
   * The next read notices the deletion of a user whose epoch is known: the epoch has disappeared or changed. If the last
   * read found no epoch (the user had no revisions yet), there is nothing to compare.
   */
  isEndedBy({ topic }: Change): boolean {
    return topic === 'user' && this.#epoch === undefined;
  }

  /** A deletion of the user always counts as unread. */
  isUnread({ topic, revision }: Change): boolean {
    if (topic === 'user') return true;
    return this.#plan.sources.some((source, i) => topic === source.topic && revision > this.#seenOf(i));
  }

  isBehind(revisions: Revisions | undefined): boolean {
    return revisions?.epoch !== this.#epoch || this.#findBehind(revisions).length > 0;
  }

  /** Returns `undefined` if the user was deleted or the epoch renewed since the last batch. */
  async read(): Promise<Batch<Delivered> | undefined> {
    const revisions = await this.#findRevisions();
    const epoch = this.#epoch;
    this.#epoch = revisions?.epoch;
    // The epoch shows a deletion even if its announcement arrives after those of later changes.
    if (epoch !== undefined && epoch !== this.#epoch) return undefined;
    const batches = await Promise.all(
      this.#findBehind(revisions).map(async ({ source, i }) => ({
        i,
        ...(await source.read(this.#seenOf(i), revisions)),
      })),
    );
    const events = batches.flatMap((batch) => this.#deliver(batch));
    return { events, hasMore: this.#findBehind(revisions).length > 0 };
  }

  /** Delivers the next events of a source, and moves the stream's position past them. */
  #deliver({ i, events, seen }: { i: number; events: readonly Event[]; seen: number }): Delivered[] {
    const delivered = events.map((event) => {
      this.#seen[i] = event.revision;
      return this.#plan.deliver(event, { epoch: this.#epoch, seen: this.#seen });
    });
    this.#seen[i] = seen;
    return delivered;
  }

  /** Returns the sources with changes that have not been read, and their numbers. */
  #findBehind(revisions: Revisions | undefined): { source: Source<Event>; i: number }[] {
    return this.#plan.sources
      .map((source, i) => ({ source, i }))
      .filter(({ source, i }) => (revisions?.[source.topic] ?? 0) > this.#seenOf(i));
  }

  #seenOf(i: number): number {
    return this.#seen[i] ?? 0;
  }

  #findRevisions(): Promise<Revisions | undefined> {
    return findRevisions(this.#database, this.userId);
  }
}
