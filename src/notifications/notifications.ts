import { type EntityManager, query } from '../database/database.ts';
import { cutPage, type Page } from '../database/page.ts';
import { NotFoundError } from '../errors.ts';
import type { NotificationKind } from '../notification-kind.ts';
import type { Time } from '../time.ts';
import type { Notification, NotificationStatus } from './notification.entity.ts';

/** Which of a user's notifications; an empty list or none is no filter. */
export type NotificationFilter = {
  status?: readonly NotificationStatus[] | null | undefined;
  kind?: readonly NotificationKind[] | null | undefined;
};

/** A user's notifications, newest first. */
export async function listNotifications(
  em: EntityManager,
  userId: string,
  filter: NotificationFilter,
  page: Page,
): Promise<Notification[]> {
  return cutPage(matching(em, userId, filter).selectAll(), page).execute();
}

/** How many there are without paging. */
export async function countNotifications(
  em: EntityManager,
  userId: string,
  filter: NotificationFilter,
): Promise<number> {
  const { count } = await matching(em, userId, filter)
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

function matching(em: EntityManager, userId: string, { status, kind }: NotificationFilter) {
  return query(em)
    .selectFrom('Notification')
    .where('userId', '=', userId)
    .$if(!!status?.length, (all) => all.where('status', 'in', status ?? []))
    .$if(!!kind?.length, (all) => all.where('kind', 'in', kind ?? []));
}

/** @throws {NotFoundError} where the user has no such notification */
export async function findNotification(em: EntityManager, userId: string, id: string): Promise<Notification> {
  const notification = await query(em)
    .selectFrom('Notification')
    .selectAll()
    .where('userId', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
  if (notification === undefined) throw new NotFoundError();
  return notification;
}

/**
 * Dismisses a notification whatever its status; one that is dismissed already stays as it is.
 * One statement. Locking the user and then the notification reads its status as the one before left it, so that of
 * two at once one changes it, and both find it dismissed. Times never go back, though clocks and requests overtake
 * each other.
 * @throws {NotFoundError} where the user has no such notification
 */
export async function dismissNotification(
  em: EntityManager,
  userId: string,
  id: string,
  now: Time,
): Promise<Notification> {
  const dismissed = await query(em)
    .with('locked', (db) =>
      db.selectFrom('UserRevision').select('userId').where('userId', '=', userId).forUpdate(),
    )
    .with('undismissed', (db) =>
      db
        .selectFrom('Notification')
        .innerJoin('locked', 'locked.userId', 'Notification.userId')
        .select('Notification.id')
        .where('Notification.id', '=', id)
        .where('Notification.status', '<>', 'dismissed')
        .forUpdate('Notification'),
    )
    .with('raised', (db) =>
      db
        .updateTable('UserRevision')
        .set((eb) => ({ notifications: eb('notifications', '+', 1) }))
        .where('userId', '=', userId)
        .where((eb) => eb.exists(eb.selectFrom('undismissed').select('id')))
        .returning('notifications as revision'),
    )
    .updateTable('Notification')
    .from('raised')
    .set((eb) => ({
      status: 'dismissed',
      revision: eb.ref('raised.revision'),
      dismissedAt: eb.fn('greatest', [eb.val(now), 'updatedAt']),
      updatedAt: eb.fn('greatest', [eb.val(now), 'updatedAt']),
    }))
    .where('userId', '=', userId)
    .where('id', '=', id)
    .returningAll('Notification')
    .executeTakeFirst();
  return dismissed ?? findNotification(em, userId, id);
}
