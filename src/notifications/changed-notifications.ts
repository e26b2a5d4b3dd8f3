import { type EntityManager, query } from '../database/database.ts';
import { type NotificationKind, notificationKinds } from '../notification-kind.ts';
import type { Notification } from './notification.entity.ts';

/** A user's notifications that changed after a revision, in their newest state, in the order of their changes. */
export async function changedNotifications(
  em: EntityManager,
  userId: string,
  after: number,
  limit: number,
): Promise<Notification[]> {
  return query(em)
    .selectFrom('Notification')
    .selectAll()
    .where('userId', '=', userId)
    .where('revision', '>', after)
    .orderBy('revision')
    .limit(limit)
    .execute();
}

/** How many of a user's notifications wait for them. */
export type ActiveCounts = { total: number; byKind: { kind: NotificationKind; count: number }[] };

/** Counts the active notifications, every kind in the specification's order; from the index of active ones. */
export async function countActive(em: EntityManager, userId: string): Promise<ActiveCounts> {
  const rows = await query(em)
    .selectFrom('Notification')
    .select(['kind', (eb) => eb.fn.countAll<string>().as('count')])
    .where('userId', '=', userId)
    .where('status', '=', 'active')
    .groupBy('kind')
    .execute();
  const counts = new Map(rows.map(({ kind, count }) => [kind, Number(count)]));
  const byKind = notificationKinds.map((kind) => ({ kind, count: counts.get(kind) ?? 0 }));
  return { total: byKind.reduce((sum, { count }) => sum + count, 0), byKind };
}
