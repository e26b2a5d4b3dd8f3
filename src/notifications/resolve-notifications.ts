import { type EntityManager, query } from '../database/database.ts';
import type { NotificationKind } from '../notification-kind.ts';
import { lockUser, raiseRevision } from '../revisions/revisions.ts';
import type { Notification, Resolution } from './notification.entity.ts';

/** The notifications of one task, of all kinds or of those listed; an empty list is none. */
export type TaskFilter = { taskId: string; kinds?: readonly NotificationKind[] | null | undefined };

/** Resolves a user's active notifications of a task, and answers those that it changed, oldest first. */
export async function resolveNotifications(
  em: EntityManager,
  userId: string,
  filter: TaskFilter,
  reason: Exclude<Resolution, 'superseded'>,
  now: Date,
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

/**
 * Resolves under the user's lock. Each changed notification takes a revision of its own, counted on from `revision`;
 * its times never go back, though clocks and requests overtake each other.
 */
export async function resolveActive(
  em: EntityManager,
  change: { userId: string; filter: TaskFilter; reason: Resolution; revision: number },
  now: Date,
): Promise<Notification[]> {
  const { userId, filter, reason, revision } = change;
  const resolved = await query(em)
    .with('numbered', (db) =>
      db
        .selectFrom('Notification')
        .select([
          'id',
          (eb) =>
            eb.fn
              .agg<number>('row_number')
              .over((o) => o.orderBy('createdAt').orderBy('id'))
              .as('position'),
        ])
        .where('userId', '=', userId)
        .where('status', '=', 'active')
        .where('taskId', '=', filter.taskId)
        .$if(filter.kinds != null, (all) =>
          all.where((eb) => eb('kind', '=', eb.fn.any(eb.val(filter.kinds ?? [])))),
        ),
    )
    .updateTable('Notification')
    .from('numbered')
    .set((eb) => ({
      status: 'resolved',
      resolvedBy: reason,
      revision: eb(eb.val(revision), '+', eb.ref('numbered.position')),
      resolvedAt: eb.fn('greatest', [eb.val(now), 'updatedAt']),
      updatedAt: eb.fn('greatest', [eb.val(now), 'updatedAt']),
    }))
    .where('userId', '=', userId)
    .whereRef('Notification.id', '=', 'numbered.id')
    .returningAll('Notification')
    .execute();
  return resolved.sort((a, b) => a.revision - b.revision);
}
