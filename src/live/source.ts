import type { EntityManager } from '../database/database.ts';
import { findRevision, type Revisions } from '../revisions/revisions.ts';
import type { Change, Topic } from './hub.ts';

/** The events of a stream: one topic of one user, read from the database. */
export type Source<Event> = {
  /** The user whose changes the events show. */
  readonly userId: string;
  readonly topic: Exclude<Topic, 'user'>;
  /** Returns the revision after which the stream begins. */
  getStartRevision(state: Revisions | undefined): number;
  /**
   * Reads the next events after a revision, in order. `seen` is the revision up to which they are complete. `state` is
   * the user's current state: all changes up to it are committed, and later ones are announced.
   */
  read(
    after: number,
    state: Revisions | undefined,
  ): Promise<{ readonly events: readonly Event[]; readonly seen: number }>;
};

/** Reads the events of a source one batch after another. */
export class SourceReader<Event> {
  readonly #em: EntityManager;
  readonly #source: Source<Event>;
  /** `undefined` while nothing was ever stored for the user. */
  #epoch: string | undefined;
  #seen = 0;

  constructor(em: EntityManager, source: Source<Event>) {
    this.#em = em;
    this.#source = source;
  }

  /** Finds the revision after which the stream begins. */
  async start(): Promise<void> {
    const state = await this.#findState();
    this.#epoch = state?.epoch;
    this.#seen = this.#source.getStartRevision(state);
  }

  /** Whether the user has stored records, which a deletion of the user would delete. */
  get hasRecords(): boolean {
    return this.#epoch !== undefined;
  }

  /** Whether a change was not read yet. */
  isUnread({ topic, revision }: Change): boolean {
    return topic === 'user' || (topic === this.#source.topic && revision > this.#seen);
  }

  /** Whether there are changes that were not read yet. */
  isBehind(state: Revisions | undefined): boolean {
    return state?.epoch !== this.#epoch || this.#reached(state) > this.#seen;
  }

  /** Reads the next batch. Returns `undefined` if the user was deleted since the last one. */
  async read(): Promise<{ readonly events: readonly Event[]; readonly hasMore: boolean } | undefined> {
    const state = await this.#findState();
    const epoch = this.#epoch;
    this.#epoch = state?.epoch;
    // The announcement of a deletion can arrive after those of later changes.
    if (epoch !== undefined && epoch !== this.#epoch) return undefined;
    const reached = this.#reached(state);
    if (reached <= this.#seen) return { events: [], hasMore: false };
    const { events, seen } = await this.#source.read(this.#seen, state);
    this.#seen = seen;
    return { events, hasMore: seen < reached };
  }

  #reached(state: Revisions | undefined): number {
    return state?.[this.#source.topic] ?? 0;
  }

  #findState(): Promise<Revisions | undefined> {
    return findRevision(this.#em, this.#source.userId);
  }
}
