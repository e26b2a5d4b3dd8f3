import type { EntityManager } from '../database/database.ts';
import type { NotificationKind } from '../notification-kind.ts';
import { lockUser, raiseRevision } from '../revisions/revisions.ts';
import type { Time } from '../time.ts';
import { type Choice, changeNumbered } from './change-numbered.ts';
import type { Notification } from './notification.entity.ts';

/** Which notifications to dismiss: by their ids, or all active ones that the user can have seen. */
export type DismissFilter =
  | { ids: readonly string[] }
  | {
      kinds: readonly NotificationKind[] | null;
      projectId: string | null;
      /** The revision up to which the user has seen changes. */
      upTo: number;
    };

/**
 * Dismisses many notifications at once and answers those that it changed, in the order of their revisions. Ids
 * that are unknown or someone else's are passed over; by filter only active ones are dismissed.
 */
export async function dismissNotifications(
  em: EntityManager,
  userId: string,
  filter: DismissFilter,
  now: Time,
): Promise<Notification[]> {
  return em.transactional(async (em) => {
    const { notifications: revision } = await lockUser(em, userId);
    const dismissed = await changeNumbered(
      em,
      { userId, revision },
      chosenBy(filter),
      { status: 'dismissed' },
      now,
    );
    if (dismissed.length > 0) {
      await raiseRevision(em, userId, { notifications: revision + dismissed.length });
    }
    return dismissed;
  });
}

function chosenBy(filter: DismissFilter): Choice {
  if ('ids' in filter) {
    return (eb) => eb.and([eb('status', '<>', 'dismissed'), eb('id', '=', eb.fn.any(eb.val(filter.ids)))]);
  }
  const { kinds, projectId, upTo } = filter;
  return (eb) =>
    eb.and([
      eb('status', '=', 'active'),
      eb('revision', '<=', upTo),
      ...(kinds === null ? [] : [eb('kind', '=', eb.fn.any(eb.val(kinds)))]),
      ...(projectId === null ? [] : [eb('projectId', '=', projectId)]),
    ]);
}
