import { sql } from 'kysely';
import { defineStatement, runStatement, type Slots } from '../database/statement.ts';
import { announceRecords } from '../live/announce-records.ts';
import { changeAndCancel } from '../revisions/change-and-cancel.ts';
import type { EventCursor } from '../revisions/event-cursor.ts';
import { currentEpoch } from '../revisions/revisions.ts';
import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';
import { type NotificationKind, notificationKinds } from './notification.enums.ts';
import { findNotification } from './notifications.ts';
import type { NotificationDependencies } from './publish-notifications.ts';
import { updateWithRevisions } from './update-with-revisions.ts';

/**
 * Dismisses a notification, whatever its status. Dismissing it again changes nothing.
 * @throws {NotFoundError} if the user has no such notification
 */
export async function dismissNotification(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  id: string,
  now: Time,
): Promise<Notification> {
  const input = { userId, id, now };
  // Without channels there are no deliveries to cancel, and a single statement costs less than a transaction.
  const [dismissed] =
    outbox.channels.size === 0
      ? await runStatement(database, dismiss, input)
      : await changeAndCancel({ database, outbox }, [userId], (run) => run(dismiss, input));
  if (dismissed === undefined) return findNotification(database, userId, id);
  announce({ user: userId, topic: 'notifications', revision: dismissed.revision });
  return dismissed;
}

/**
 * Locks the user and then the notification, so that only the first of two concurrent dismissals changes it. The
 * statement itself locks the user, because `runStatement` does not. Within a change, the user is already locked.
 * Timestamps never decrease, even if the clocks of gateways differ. The property `notifications` of `UserRevision` is a
 * revision, not a count.
 */
const dismiss = defineStatement((db, { slot }: Slots<{ userId: string; id: string; now: Time }>) =>
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
    .with('incremented', (db) =>
      db
        .updateTable('UserRevision')
        .set((eb) => ({ notifications: eb('notifications', '+', 1) }))
        .where('userId', '=', slot('userId'))
        .where((eb) => eb.exists(eb.selectFrom('undismissed').select('id')))
        .returning('notifications as revision'),
    )
    .updateTable('Notification')
    .from('incremented')
    .set((eb) => ({
      status: 'dismissed',
      revision: eb.ref('incremented.revision'),
      dismissedAt: eb.fn('greatest', [slot('now'), 'updatedAt']),
      updatedAt: eb.fn('greatest', [slot('now'), 'updatedAt']),
    }))
    .where('userId', '=', slot('userId'))
    .where('id', '=', slot('id'))
    .returningAll('Notification'),
);

/** The notifications to dismiss: by ID, or all active notifications that the client has received. */
export type DismissFilter =
  | { ids: readonly string[] }
  | {
      kinds: readonly NotificationKind[] | null;
      projectId: string | null;
      /** The last change that the client has received. A cursor of another epoch dismisses nothing. */
      upTo: EventCursor;
    };

/**
 * Dismisses notifications and returns the changed notifications, in the order of their revisions. Ignores unknown IDs
 * and the IDs of another user's notifications.
 */
export async function dismissNotifications(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  filter: DismissFilter,
  now: Time,
): Promise<Notification[]> {
  const dismissed = await changeAndCancel({ database, outbox }, [userId], (run) => {
    if ('ids' in filter) return run(dismissByIds, { userId, ids: filter.ids, now });
    const { kinds, projectId, upTo } = filter;
    return run(dismissSeen, { userId, kinds: kinds ?? notificationKinds, projectId, ...upTo, now });
  });
  return announceRecords(announce, userId, 'notifications', dismissed);
}

type DismissInput = { userId: string; now: Time };

const dismissByIds = defineStatement((db, slots: Slots<DismissInput & { ids: readonly string[] }>) =>
  updateWithRevisions(
    db,
    slots,
    (eb) => eb.and([eb('status', '<>', 'dismissed'), eb('id', '=', sql<string>`any(${slots.slot('ids')})`)]),
    { status: 'dismissed' },
  ),
);

type SeenInput = DismissInput &
  EventCursor & { kinds: readonly NotificationKind[]; projectId: string | null };

const dismissSeen = defineStatement((db, slots: Slots<SeenInput>) => {
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
