import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams, type Selected, selectProperties } from '../database/read.ts';
import type { Source } from '../live/source.ts';
import {
  defineNextBatchRead,
  findBatches,
  type PositionsInput,
  selectInBatches,
} from '../live/stream-batches.ts';
import {
  type EventCursor,
  formatEventCursor,
  getLatestCursor,
  resolveRevision,
} from '../revisions/event-cursor.ts';
import { type ActiveCounts, selectCounts, toActiveCounts } from './active-counts.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationKind } from './notification.enums.ts';

/** A notification after a change. */
export type NotificationEvent = {
  notification: ChangedNotification;
  /** The counts of active notifications after the change; `undefined` if they are not selected. */
  counts: ActiveCounts | undefined;
  /** The cursor that resumes the stream after this event. */
  cursor: string;
  revision: number;
};

/**
 * The events of a user's notifications after a cursor, or from now on. Several changes of a notification may be
 * combined into one event with its current state.
 */
export function createNotificationSource(
  database: Database,
  userId: string,
  start: EventCursor | undefined,
  selected?: ReadonlySet<string>,
): Source<NotificationEvent> {
  return {
    topic: 'notifications',
    isState: false,
    getStartRevision: (revisions) =>
      start === undefined ? getLatestCursor(revisions).revision : resolveRevision(start, revisions),
    async read(after, revisions) {
      const { epoch, revision: current } = getLatestCursor(revisions);
      const changed = await readChangedNotifications(database, { userId, after }, selected);
      const counted = changed[0]?.counts;
      const counts = counted === undefined ? undefined : toActiveCounts(userId, (kind) => counted?.[kind]);
      const events = changed.map((notification) => {
        const { revision } = notification;
        return { notification, counts, cursor: formatEventCursor({ epoch, revision }), revision };
      });
      // If every notification that changed after the revision `after` has been deleted since, none is found. The stream
      // then continues from `current`.
      return { events, seen: changed.at(-1)?.revision ?? current };
    },
  };
}

/** The properties that can hold long text. */
const texts = [
  'taskName',
  'projectName',
  'projectRepoUrl',
  'workspaceId',
  'title',
  'previewText',
  'prUrl',
  'payload',
  'answer',
  'onExpiry',
] as const satisfies readonly (keyof Notification)[];

const always = ['id', 'kind', 'status', 'revision', 'requestState'] as const;

const findChanged = defineListRead((db, params: ReadParams<PositionsInput>) => {
  const selected = params.selected('Notification', always);
  const counts = params.has('counts');
  const batches = findBatches('Notification', params, texts, selected, counts ? selectCounts : undefined);
  const changed = db.selectFrom('Notification').innerJoin(batches.as('batch'), (join) => join.onTrue());
  return selectInBatches(selectProperties(changed, always, selected)).$if(counts, (rows) =>
    rows.select(sql<Counts | null>`batch.counts`.as('counts')),
  );
});

/** The numbers of active notifications of those kinds of which there are any. Null if there are none. */
type Counts = Partial<Record<NotificationKind, number>>;

/** A notification with the selected properties, and the counts if they are selected. */
export type ChangedNotification = Selected<Notification, (typeof always)[number]> & {
  counts?: Counts | null;
};

/**
 * Reads the next batch of a user's notifications that changed after a revision, in their current state and in the order
 * of their changes.
 */
const readChangedNotifications = defineNextBatchRead<ChangedNotification>(findChanged);
