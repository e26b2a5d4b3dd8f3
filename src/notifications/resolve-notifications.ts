import type { EntityManager } from '../database/database.ts';
import type { NotificationKind } from '../notification-kind.ts';
import { lockUser, raiseRevision } from '../revisions/revisions.ts';
import type { Time } from '../time.ts';
import { type Choice, changeNumbered } from './change-numbered.ts';
import type { Notification, Resolution } from './notification.entity.ts';

/** The notifications of one task, of all kinds or of those listed; an empty list is none. */
export type TaskFilter = { taskId: string; kinds?: readonly NotificationKind[] | null | undefined };

/** Resolves a user's active notifications of a task, and answers those that it changed, oldest first. */
export async function resolveNotifications(
  em: EntityManager,
  userId: string,
  filter: TaskFilter,
  reason: Exclude<Resolution, 'superseded'>,
  now: Time,
): Promise<Notification[]> {
  return em.transactional(async (em) => {
    const { notifications: revision } = await lockUser(em, userId);
    const resolved = await resolveActive(em, { userId, filter, reason, revision }, now);
    if (resolved.length > 0) {
      await raiseRevision(em, userId, { notifications: revision + resolved.length });
    }
    return resolved;
  });
}

/** Resolves under the user's lock; revisions are counted on from `revision`. */
export async function resolveActive(
  em: EntityManager,
  change: { userId: string; filter: TaskFilter; reason: Resolution; revision: number },
  now: Time,
): Promise<Notification[]> {
  const { userId, filter, reason, revision } = change;
  const choice: Choice = (eb) =>
    eb.and([
      eb('status', '=', 'active'),
      eb('taskId', '=', filter.taskId),
      ...(filter.kinds ? [eb('kind', '=', eb.fn.any(eb.val(filter.kinds)))] : []),
    ]);
  return changeNumbered(em, { userId, revision }, choice, { status: 'resolved', resolvedBy: reason }, now);
}
