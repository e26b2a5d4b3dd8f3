import type { Database } from '../database/database.ts';
import { findRevisions, type Revisions } from '../revisions/revisions.ts';
import type { Change, Topic } from './hub.ts';
import type { Batch, StreamReader } from './stream.ts';

/** An event, with the user's revision of its topic after the change. */
export type RevisionEvent = { readonly revision: number };

/** Events of one topic of one user, read from the database. */
export type Source<Event extends RevisionEvent> = {
  readonly topic: Exclude<Topic, 'user' | 'platformEvents'>;
  /** Whether an event is the current state, which has no revision of its own and takes that of `revisions`. */
  readonly isState: boolean;
  /** Returns the revision after which a stream of this source alone begins. */
  getStartRevision(revisions: Revisions | undefined): number;
  /**
   * Reads the next events after a revision, in order. `revisions` are the latest known revisions of the user. Returns the
   * events and `seen`, the revision up to which they are complete if `revisions` are those that are stored.
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
  /** The epoch of the user's revisions when they were last read; `undefined` if the user had none. */
  #epoch: string | undefined;
  /**
   * The latest known revisions: as they were read, and as changes announced since have moved them. `undefined` if the user
   * had none, or while they are read.
   */
  #known: Revisions | undefined;
  /** Whether they must be read again, because a change that was announced is not in them. */
  #mustFind = false;
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
    this.#seen = [...seen];
    return first;
  }

  /**
   * The next read notices the deletion of a user whose epoch is known: the epoch has disappeared or changed. If there
   * was none (the user had no revisions yet), there is nothing to compare.
   */
  isEndedBy({ topic }: Change): boolean {
    return topic === 'user' && this.#epoch === undefined;
  }

  /** A deletion of the user always counts as unread. */
  note({ topic, revision }: Change): boolean {
    if (topic === 'user') {
      this.#mustFind = true;
      return true;
    }
    const unread = this.#plan.sources.filter(
      (source, i) => topic === source.topic && revision > this.#seenOf(i),
    );
    if (unread.length === 0) return false;
    if (this.#known === undefined || topic === 'platformEvents' || unread.some(({ isState }) => isState))
      this.#mustFind = true;
    else this.#known = { ...this.#known, [topic]: Math.max(this.#known[topic], revision) };
    return true;
  }

  noteRevisions(revisions: Revisions | undefined): boolean {
    const isOfEpoch = revisions?.epoch === this.#epoch;
    if (isOfEpoch && this.#findBehind(revisions).length === 0) return false;
    this.#mustFind = true;
    return true;
  }

  /** Returns `undefined` if the user was deleted or the epoch renewed since the last batch. */
  async read(): Promise<Batch<Delivered> | undefined> {
    const epoch = this.#epoch;
    const isKnown = this.#known !== undefined && !this.#mustFind;
    const revisions = isKnown ? this.#known : await this.#findRevisions();
    if (epoch !== undefined && epoch !== this.#epoch) return undefined;
    const batches = await Promise.all(
      this.#findBehind(revisions).map(async ({ source, i }) => ({
        i,
        ...(await source.read(this.#seenOf(i), revisions)),
      })),
    );
    // What was announced may be from before a deletion of the user: only the revisions of events are known to be stored.
    if (isKnown && batches.some(({ events }) => events.length === 0)) this.#mustFind = true;
    const events = batches.flatMap(({ i, events, seen }) =>
      this.#deliver(i, events, isKnown ? undefined : seen),
    );
    return { events, hasMore: this.#findBehind(revisions).length > 0 };
  }

  /** Delivers the next events of a source, and moves the stream's position past them, or to `seen`. */
  #deliver(i: number, events: readonly Event[], seen: number | undefined): Delivered[] {
    const delivered = events.map((event) => {
      this.#seen[i] = event.revision;
      return this.#plan.deliver(event, { epoch: this.#epoch, seen: this.#seen });
    });
    if (seen !== undefined) this.#seen[i] = seen;
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

  async #findRevisions(): Promise<Revisions | undefined> {
    // Before the read, because a change that is announced during it may be missing from its result.
    this.#mustFind = false;
    this.#known = undefined;
    this.#known = await findRevisions(this.#database, this.userId);
    this.#epoch = this.#known?.epoch;
    return this.#known;
  }
}
