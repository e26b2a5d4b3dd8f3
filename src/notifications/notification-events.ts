import type { EntityManager } from '../database/database.ts';
import type { Source } from '../live/stream.ts';
import { type ChangeCursor, cursorOf, revisionOf, writeCursor } from '../revisions/change-cursor.ts';
import { type ActiveCounts, changedNotifications, countActive } from './changed-notifications.ts';
import type { Notification } from './notification.entity.ts';

/** A notification as a change left it. */
export type NotificationEvent = {
  notification: Notification;
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
  reads?: ReadonlySet<string>,
): Source<NotificationEvent> {
  const readsCounts = reads?.has('counts') ?? true;
  let seen = 0;
  return {
    topic: 'notifications',
    isKnown: (revision) => revision <= seen,
    start(state) {
      seen = after === undefined ? cursorOf(state).revision : revisionOf(after, state);
    },
    async read(state) {
      const { epoch, revision: reached } = cursorOf(state);
      if (reached <= seen) return { events: [], hasMore: false };
      const changed = await changedNotifications(em, userId, seen, reads);
      const counts = readsCounts && changed.length > 0 ? await countActive(em, userId) : undefined;
      // Only after all is read. Revisions without a notification belong to one that changed again, or was removed.
      seen = changed.at(-1)?.revision ?? reached;
      const hasMore = seen < reached;
      const events = changed.map((notification) => {
        const { revision } = notification;
        return { notification, counts, cursor: writeCursor({ epoch, revision }) };
      });
      return { events, hasMore };
    },
  };
}
