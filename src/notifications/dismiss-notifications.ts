import { sql } from 'kysely';
import { runAndCancel, transactionAndCancel } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { lockExisting } from '../database/transaction.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { announceRecords } from '../live/announcer.ts';
import { type EventInput, recordEvents } from '../platform-events/insert-events.ts';
import type { EventCursor } from '../revisions/event-cursor.ts';
import { currentEpoch } from '../revisions/revisions.ts';
import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';
import { type NotificationKind, notificationKinds } from './notification.enums.ts';
import { findNotification } from './notifications.ts';
import type { NotificationDependencies } from './publish-notifications.ts';
import { updateWithRevisions } from './update-with-revisions.ts';

/** The second attempt sees every notification that was committed during the first. */
const MAX_ATTEMPTS = 2;

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
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const [dismissed] = await runAndCancel({ database, outbox }, dismiss, input);
    if (dismissed !== undefined) {
      announce({ user: userId, topic: 'notifications', revision: dismissed.revision });
      return dismissed;
    }
    const found = await findNotification(database, userId, id);
    if (found.status === 'dismissed') return found;
  }
  // The notification was deleted and published again between the attempts.
  throw new NotFoundError();
}

type DismissInput = EventInput & { now: Time };

/**
 * Locks the user and then the notification, so that only the first of two concurrent dismissals changes it. The
 * statement itself locks the user, because `runStatement` does not. Within a change, the user is already locked.
 * Timestamps never decrease, even if the clocks of gateways differ. The property `notifications` of `UserRevision` is a
 * revision, not a count.
 */
const dismiss = defineStatement((db, params: Params<DismissInput & { id: string }>) => {
  const { param } = params;
  return db
    .with('locked', (db) => lockExisting(db, param('userId')))
    .with('undismissed', (db) =>
      db
        .selectFrom('Notification')
        .select(['id', 'taskId'])
        .where(({ exists, selectFrom }) => exists(selectFrom('locked').select('userId')))
        .where('userId', '=', param('userId'))
        .where('id', '=', param('id'))
        .where('status', '<>', 'dismissed')
        .forUpdate(),
    )
    .with('incremented', (db) =>
      db
        .updateTable('UserRevision')
        .set((eb) => ({ notifications: eb('notifications', '+', 1) }))
        .where('userId', '=', param('userId'))
        .where((eb) => eb.exists(eb.selectFrom('undismissed').select('id')))
        .returning('notifications as revision'),
    )
    .with('events', (db) => recordEvents(db, params, ['undismissed', sql`'notification.dismissed'`]))
    .updateTable('Notification')
    .from('incremented')
    .set((eb) => ({
      status: 'dismissed',
      revision: eb.ref('incremented.revision'),
      dismissedAt: eb.fn('greatest', [param('now'), 'updatedAt']),
      updatedAt: eb.fn('greatest', [param('now'), 'updatedAt']),
    }))
    .where('userId', '=', param('userId'))
    .where('id', '=', param('id'))
    .returningAll('Notification');
});

/** The notifications to dismiss: by ID, or all active notifications that the client has received. */
export type DismissFilter =
  | { ids: readonly string[] }
  | {
      kinds: readonly NotificationKind[] | null;
      projectIds: readonly string[] | null;
      /** The last change that the client has received. A cursor of another epoch dismisses nothing. */
      upTo: EventCursor;
    };

/**
 * Dismisses notifications and returns the IDs of the changed notifications. Ignores unknown IDs and the IDs of another
 * user's notifications.
 */
export async function dismissNotifications(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  filter: DismissFilter,
  now: Time,
): Promise<string[]> {
  const dismissed = await transactionAndCancel({ database, outbox }, [userId], (run) => {
    const input = { userId, now };
    if ('ids' in filter) return run(dismissByIds, { ...input, ids: filter.ids });
    const { kinds, projectIds, upTo } = filter;
    return run(dismissSeen, { ...input, kinds: kinds ?? notificationKinds, projectIds, ...upTo });
  });
  return announceRecords(announce, userId, 'notifications', dismissed).map(({ id }) => id);
}

const dismissByIds = defineStatement((db, params: Params<DismissInput & { ids: readonly string[] }>) =>
  updateWithRevisions(
    db,
    params,
    (eb) =>
      eb.and([eb('status', '<>', 'dismissed'), eb('id', '=', sql<string>`any(${params.param('ids')})`)]),
    { status: 'dismissed' },
  ).returning(['Notification.id as id', 'Notification.revision as revision']),
);

type SeenInput = DismissInput &
  EventCursor & { kinds: readonly NotificationKind[]; projectIds: readonly string[] | null };

const dismissSeen = defineStatement((db, params: Params<SeenInput>) => {
  const { param } = params;
  return updateWithRevisions(
    db,
    params,
    (eb) =>
      eb.and([
        eb('status', '=', sql.lit<'active'>('active')),
        eb('kind', '=', sql<NotificationKind>`any(${param('kinds')})`),
        eb.or([
          eb(param('projectIds', 'text[]'), 'is', null),
          eb('projectId', '=', sql<string>`any(${param('projectIds', 'text[]')})`),
        ]),
        eb('revision', '<=', param('revision')),
        eb.exists(
          eb
            .selectFrom('UserRevision')
            .select('userId')
            .where('userId', '=', param('userId'))
            .where(currentEpoch, '=', param('epoch'))
            .where('notifications', '>=', param('revision')),
        ),
      ]),
    { status: 'dismissed' },
  ).returning(['Notification.id as id', 'Notification.revision as revision']);
});
