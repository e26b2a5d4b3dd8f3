import type { EntityManager } from '../database/database.ts';
import type { Source } from '../live/source.ts';
import {
  type ChangeCursor,
  formatChangeCursor,
  getLatestCursor,
  resolveRevision,
} from '../revisions/change-cursor.ts';
import {
  type ActiveCounts,
  type ChangedNotification,
  countActive,
  readChangedNotifications,
} from './read-changes.ts';

/** A notification as a change left it. */
export type NotificationEvent = {
  notification: ChangedNotification;
  /** How many wait for the user, read after the change if it is to be read. */
  counts: ActiveCounts | undefined;
  /** Goes on after this event. */
  cursor: string;
};

/** Every change of a user's notifications after a cursor, or from now on: each notification in its newest state. */
export function watchNotifications(
  em: EntityManager,
  userId: string,
  after: ChangeCursor | undefined,
  selected?: ReadonlySet<string>,
): Source<NotificationEvent> {
  const readsCounts = selected?.has('counts') ?? true;
  return {
    userId,
    topic: 'notifications',
    getStartRevision: (state) =>
      after === undefined ? getLatestCursor(state).revision : resolveRevision(after, state),
    async read(seen, state) {
      const { epoch, revision: reached } = getLatestCursor(state);
      const [changed, counts] = await Promise.all([
        readChangedNotifications(em, { userId, after: seen }, selected),
        readsCounts ? countActive(em, userId) : undefined,
      ]);
      const events = changed.map((notification) => {
        const { revision } = notification;
        return { notification, counts, cursor: formatChangeCursor({ epoch, revision }) };
      });
      // Revisions without a notification belong to one that changed again, or was removed.
      return { events, seen: changed.at(-1)?.revision ?? reached };
    },
  };
}
