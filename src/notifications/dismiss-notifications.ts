import { sql } from 'kysely';
import { type Slots, statement } from '../database/statement.ts';
import { announceRecords } from '../live/announce-records.ts';
import type { Writer } from '../live/announcer.ts';
import { change, changeInOneStatement } from '../revisions/change.ts';
import type { ChangeCursor } from '../revisions/change-cursor.ts';
import { currentEpoch } from '../revisions/revisions.ts';
import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';
import { type NotificationKind, notificationKinds } from './notification.enums.ts';
import { findNotification } from './notifications.ts';
import { updateWithRevisions } from './update-with-revisions.ts';

/**
 * Dismisses a notification, whatever its status. Dismissing it again changes nothing.
 * @throws {NotFoundError} if the user has no such notification
 */
export async function dismissNotification(
  { em, announce }: Writer,
  userId: string,
  id: string,
  now: Time,
): Promise<Notification> {
  const [dismissed] = await changeInOneStatement(em, dismiss, { userId, id, now });
  if (dismissed === undefined) return findNotification(em, userId, id);
  announce({ user: userId, topic: 'notifications', revision: dismissed.revision });
  return dismissed;
}

/**
 * Locks the user and then the notification, so that of two concurrent dismissals one changes it and the other finds it
 * dismissed. Timestamps never decrease, even if the clocks of gateways differ.
 */
const dismiss = statement((db, { slot }: Slots<{ userId: string; id: string; now: Time }>) =>
  db
    .with('locked', (db) =>
      db.selectFrom('UserRevision').select('userId').where('userId', '=', slot('userId')).forUpdate(),
    )
    .with('undismissed', (db) =>
      db
        .selectFrom('Notification')
        .innerJoin('locked', 'locked.userId', 'Notification.userId')
        .select('Notification.id')
        .where('Notification.id', '=', slot('id'))
        .where('Notification.status', '<>', 'dismissed')
        .forUpdate('Notification'),
    )
    .with('raised', (db) =>
      db
        .updateTable('UserRevision')
        .set((eb) => ({ notifications: eb('notifications', '+', 1) }))
        .where('userId', '=', slot('userId'))
        .where((eb) => eb.exists(eb.selectFrom('undismissed').select('id')))
        .returning('notifications as revision'),
    )
    .updateTable('Notification')
    .from('raised')
    .set((eb) => ({
      status: 'dismissed',
      revision: eb.ref('raised.revision'),
      dismissedAt: eb.fn('greatest', [slot('now'), 'updatedAt']),
      updatedAt: eb.fn('greatest', [slot('now'), 'updatedAt']),
    }))
    .where('userId', '=', slot('userId'))
    .where('id', '=', slot('id'))
    .returningAll('Notification'),
);

/** Which notifications to dismiss: by their IDs, or all active ones that the user can have seen. */
export type DismissFilter =
  | { ids: readonly string[] }
  | {
      kinds: readonly NotificationKind[] | null;
      projectId: string | null;
      /** Up to where the user has seen changes; one of another epoch has seen nothing. */
      upTo: ChangeCursor;
    };

/**
 * Dismisses notifications and returns those that it changed, in the order of their revisions. IDs that are unknown or
 * another user's are ignored; a filter dismisses only active ones.
 */
export async function dismissNotifications(
  { em, announce }: Writer,
  userId: string,
  filter: DismissFilter,
  now: Time,
): Promise<Notification[]> {
  const dismissed = await change(em, [userId], (run) => {
    if ('ids' in filter) return run(dismissByIds, { userId, ids: filter.ids, now });
    const { kinds, projectId, upTo } = filter;
    return run(dismissSeen, { userId, kinds: kinds ?? notificationKinds, projectId, ...upTo, now });
  });
  return announceRecords(announce, userId, 'notifications', dismissed);
}

type Chosen = { userId: string; now: Time };

const dismissByIds = statement((db, slots: Slots<Chosen & { ids: readonly string[] }>) =>
  updateWithRevisions(
    db,
    slots,
    (eb) => eb.and([eb('status', '<>', 'dismissed'), eb('id', '=', sql<string>`any(${slots.slot('ids')})`)]),
    { status: 'dismissed' },
  ),
);

type Seen = Chosen & ChangeCursor & { kinds: readonly NotificationKind[]; projectId: string | null };

const dismissSeen = statement((db, slots: Slots<Seen>) => {
  const { slot } = slots;
  return updateWithRevisions(
    db,
    slots,
    (eb) =>
      eb.and([
        eb('status', '=', sql.lit<'active'>('active')),
        eb('kind', '=', sql<NotificationKind>`any(${slot('kinds')})`),
        eb.or([eb(slot('projectId', 'text'), 'is', null), eb('projectId', '=', slot('projectId'))]),
        eb('revision', '<=', slot('revision')),
        eb.exists(
          eb
            .selectFrom('UserRevision')
            .select('userId')
            .where('userId', '=', slot('userId'))
            .where(currentEpoch, '=', slot('epoch'))
            .where('notifications', '>=', slot('revision')),
        ),
      ]),
    { status: 'dismissed' },
  );
});
