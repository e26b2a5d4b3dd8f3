import type { Database } from '../database/database.ts';
import { findRevisions, type Revisions } from '../revisions/revisions.ts';
import type { Change, Topic } from './hub.ts';
import type { Batch, StreamReader } from './stream.ts';

/** The events of a stream: one topic of one user, read from the database. */
export type Source<Event> = {
  /** The user whose changes the events show. */
  readonly userId: string;
  readonly topic: Exclude<Topic, 'user' | 'platformEvents'>;
  /** Returns the revision after which the stream begins. */
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

/** Reads the events of a source one batch after another. */
export class SourceReader<Event> implements StreamReader<Event> {
  readonly userId: string;
  readonly #database: Database;
  readonly #source: Source<Event>;
  /** The epoch of the user's revisions at the last read; `undefined` if the user had no revisions. */
  #epoch: string | undefined;
  #seen = 0;

  constructor(database: Database, source: Source<Event>) {
    this.#database = database;
    this.#source = source;
    this.userId = source.userId;
  }

  async start(): Promise<void> {
    const revisions = await this.#findRevisions();
    this.#epoch = revisions?.epoch;
    this.#seen = this.#source.getStartRevision(revisions);
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
    return topic === 'user' || (topic === this.#source.topic && revision > this.#seen);
  }

  isBehind(revisions: Revisions | undefined): boolean {
    return revisions?.epoch !== this.#epoch || this.#getCurrent(revisions) > this.#seen;
  }

  /** Returns `undefined` if the user was deleted or the epoch renewed since the last batch. */
  async read(): Promise<Batch<Event> | undefined> {
    const revisions = await this.#findRevisions();
    const epoch = this.#epoch;
    this.#epoch = revisions?.epoch;
    // The epoch shows a deletion even if its announcement arrives after those of later changes.
    if (epoch !== undefined && epoch !== this.#epoch) return undefined;
    const current = this.#getCurrent(revisions);
    if (current <= this.#seen) return { events: [], hasMore: false };
    const { events, seen } = await this.#source.read(this.#seen, revisions);
    this.#seen = seen;
    return { events, hasMore: seen < current };
  }

  #getCurrent(revisions: Revisions | undefined): number {
    return revisions?.[this.#source.topic] ?? 0;
  }

  #findRevisions(): Promise<Revisions | undefined> {
    return findRevisions(this.#database, this.#source.userId);
  }
}
