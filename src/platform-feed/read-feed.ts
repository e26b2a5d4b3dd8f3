import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';
import { ConflictError } from '../errors/gateway-errors.ts';
import type { PlatformEvent } from '../platform-events/platform-event.entity.ts';
import type { PlatformEventType } from '../platform-events/platform-event.enums.ts';
import { type EventCursor, formatEventCursor } from '../revisions/event-cursor.ts';

/*
 * The platform feed consists of the events that have a position, in the order of the positions. A cursor of the feed is an
 * event cursor whose revision is a position, and whose epoch is the database's.
 */

/** The maximum number of events in a page. */
export const MAX_EVENTS = 1000;

/** The number of positions that a page scans, so that a filter that few events match costs no more than some pages. */
export const SCAN_LIMIT = 5000;

/** An event, and the cursor that continues after it. */
export type FeedEvent = Omit<PlatformEvent, 'id' | 'position'> & { cursor: string };

/** A part of the feed. `end` is the cursor that continues after it. */
export type FeedPage = { events: FeedEvent[]; end: EventCursor; hasMore: boolean };

/** Selects up to `first` events after a cursor, or from the oldest one; of some types, or of all. */
export type FeedArguments = {
  after: EventCursor | undefined;
  types: readonly PlatformEventType[] | undefined;
  first: number;
};

/**
 * Reads a part of the feed. It may have fewer events than `first`, or none, although there are more.
 * @throws {ConflictError} if the cursor has expired
 */
export async function readFeed(
  database: Database,
  { after, types, first }: FeedArguments,
): Promise<FeedPage> {
  const rows = await readPage(database, { after: after?.revision, types, first });
  const state = getState(rows);
  requireCurrent(after, state);
  const { epoch, lastPosition, scannedTo } = state;
  const events = rows.flatMap(({ type, userId, at, position, ...row }) => {
    if (type === null || userId === null || at === null || position === null) return [];
    const { notificationId, taskId, credentialVersion, channel } = row;
    const cursor = formatEventCursor({ epoch, revision: position });
    return [{ type, userId, notificationId, taskId, credentialVersion, channel, at, cursor }];
  });
  const revision = events.length < first ? scannedTo : (rows.at(-1)?.position ?? scannedTo);
  return { events, end: { epoch, revision }, hasMore: revision < lastPosition };
}

/** Returns the cursor of the last event. */
export async function findLatestCursor(database: Database): Promise<EventCursor> {
  const { epoch, lastPosition } = await findState(database);
  return { epoch, revision: lastPosition };
}

/**
 * Returns the cursor at which a stream starts: the given one, or the one before the oldest event.
 * @throws {ConflictError} if the cursor has expired
 */
export async function findStart(database: Database, after: EventCursor | undefined): Promise<EventCursor> {
  const state = await findState(database);
  requireCurrent(after, state);
  return after ?? { epoch: state.epoch, revision: state.deletedTo };
}

type FeedState = { epoch: string; lastPosition: number; deletedTo: number };

function requireCurrent(
  cursor: EventCursor | undefined,
  { epoch, lastPosition, deletedTo }: FeedState,
): void {
  if (cursor === undefined) return;
  const { revision } = cursor;
  if (cursor.epoch !== epoch || revision < deletedTo || revision > lastPosition)
    throw new ConflictError(
      'CURSOR_EXPIRED',
      'The cursor has expired. Read latestPlatformCursor, then the current records, and continue from there.',
      [
        {
          path: ['after'],
          message: 'must be a current cursor of the feed',
          value: formatEventCursor(cursor),
        },
      ],
    );
}

async function findState(database: Database): Promise<FeedState> {
  return getState(await readPage(database, { after: undefined, types: undefined, first: 0 }));
}

function getState<Row>([state]: readonly Row[]): Row {
  if (state === undefined) throw new Error('The feed has no state.');
  return state;
}

const epoch = sql<string>`(select epoch from ${sql.table('DatabaseEpoch')})`;

type PageInput = {
  after: number | undefined;
  types: readonly PlatformEventType[] | undefined;
  first: number;
};

/** Returns the state with each event, or alone. One statement reads both, so that they belong to one snapshot. */
const readPage = defineListRead((db, { param, has }: ReadParams<PageInput>) => {
  const start = has('after') ? param('after', 'int8') : sql.ref<number>('PlatformFeed.deletedTo');
  const scannedTo = sql<number>`least(${sql.ref('PlatformFeed.lastPosition')}, ${start} + ${sql.lit(SCAN_LIMIT)})`;
  return db
    .selectFrom('PlatformFeed')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('PlatformEvent')
          .select([
            'position',
            'type',
            'userId',
            'notificationId',
            'taskId',
            'credentialVersion',
            'channel',
            'at',
          ])
          .where('position', '>', start)
          .where('position', '<=', scannedTo)
          .$if(has('types'), (events) =>
            events.where((eb) => eb('type', '=', eb.fn.any(param('types', 'text[]')))),
          )
          .orderBy('position')
          .limit(param('first', 'int8'))
          .as('event'),
      (join) => join.onTrue(),
    )
    .select([
      'lastPosition',
      'deletedTo',
      epoch.as('epoch'),
      scannedTo.as('scannedTo'),
      'position',
      'type',
      'event.userId',
      'notificationId',
      'taskId',
      'credentialVersion',
      'channel',
      'at',
    ])
    .orderBy('position');
});
