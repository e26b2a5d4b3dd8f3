import type { EntityManager } from '../database/database.ts';
import type { Source } from '../live/stream.ts';
import { type ChangeCursor, cursorOf, revisionOf, writeCursor } from '../revisions/change-cursor.ts';
import { findRevision } from '../revisions/revisions.ts';
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
  let startedAt = 0;
  let seen = 0;
  return {
    topic: 'notifications',
    userId,
    isKnown: (revision) => revision <= seen,
    async start() {
      const state = await findRevision(em, userId);
      startedAt = cursorOf(state).startedAt;
      seen = after === undefined ? cursorOf(state).revision : revisionOf(after, state);
    },
    async read() {
      const changed = await changedNotifications(em, userId, seen, BATCH);
      const last = changed.at(-1);
      if (last === undefined) return { events: [], hasMore: false };
      const counts = await countActive(em, userId);
      if (startedAt === 0) startedAt = cursorOf(await findRevision(em, userId)).startedAt;
      seen = last.revision;
      const events = changed.map((notification) => {
        const { revision } = notification;
        return { notification, counts, cursor: writeCursor({ startedAt, revision }) };
      });
      return { events, hasMore: changed.length === BATCH };
    },
  };
}
