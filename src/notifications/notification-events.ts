import type { EntityManager } from '../database/database.ts';
import type { Source } from '../live/stream.ts';
import { type ChangeCursor, cursorOf, revisionOf, writeCursor } from '../revisions/change-cursor.ts';
import { type ActiveCounts, changedNotifications, countActive } from './changed-notifications.ts';
import type { Notification } from './notification.entity.ts';

/** A notification as a change left it. */
export type NotificationEvent = {
  notification: Notification;
  /** How many wait for the user, read after the change. */
  counts: ActiveCounts;
  /** Goes on after this event. */
  cursor: string;
};

/** Notifications read at once. */
const BATCH = 100;

/** Every change of a user's notifications after a cursor, or from now on: each notification in its newest state. */
export function watchNotifications(
  em: EntityManager,
  userId: string,
  after: ChangeCursor | undefined,
): Source<NotificationEvent> {
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
      const changed = await changedNotifications(em, userId, seen, BATCH);
      const hasMore = changed.length === BATCH;
      const counts = changed.length === 0 ? undefined : await countActive(em, userId);
      // Revisions without a notification are behind it too: what had them was changed again, or removed.
      seen = Math.max(changed.at(-1)?.revision ?? 0, hasMore ? 0 : reached);
      if (counts === undefined) return { events: [], hasMore };
      const events = changed.map((notification) => {
        const { revision } = notification;
        return { notification, counts, cursor: writeCursor({ epoch, revision }) };
      });
      return { events, hasMore };
    },
  };
}
