import type { Database } from '../database/database.ts';
import { ALL_USERS, type Change } from '../live/hub.ts';
import type { Batch, StreamReader } from '../live/stream.ts';
import type { PlatformEventType } from '../platform-events/platform-event.enums.ts';
import type { EventCursor } from '../revisions/event-cursor.ts';
import { type FeedEvent, findStart, readFeed } from './read-feed.ts';

/** The maximum number of events in a batch, which a stream keeps in memory until its client has read it. */
const MAX_BATCH = 100;

/** Which events a stream delivers: those after a cursor, or from the oldest one; of some types, or of all. */
export type FeedSelection = {
  after: EventCursor | undefined;
  types: readonly PlatformEventType[] | undefined;
};

/** Reads the platform feed for a stream. */
export class FeedReader implements StreamReader<FeedEvent> {
  readonly userId = ALL_USERS;
  readonly #database: Database;
  readonly #types: FeedSelection['types'];
  /** What has been read. `undefined` before the start, if the stream starts at the oldest event. */
  #seen: EventCursor | undefined;

  constructor(database: Database, { after, types }: FeedSelection) {
    this.#database = database;
    this.#types = types;
    this.#seen = after;
  }

  async start(): Promise<readonly FeedEvent[]> {
    this.#seen = await findStart(this.#database, this.#seen);
    return [];
  }

  isEndedBy(): boolean {
    return false;
  }

  note({ revision }: Change): boolean {
    return this.#seen === undefined || revision > this.#seen.revision;
  }

  /** The feed has no revisions to compare, so every sweep reads it. */
  noteRevisions(): boolean {
    return true;
  }

  async read(): Promise<Batch<FeedEvent>> {
    const page = await readFeed(this.#database, { after: this.#seen, types: this.#types, first: MAX_BATCH });
    this.#seen = page.end;
    return page;
  }
}
