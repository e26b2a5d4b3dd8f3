import type { EntityManager } from '@mikro-orm/postgresql';
import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import { getKysely, type Tables } from '../database/database.ts';
import { userTransaction } from '../database/transaction.ts';
import { announceRecords } from '../live/announcer.ts';
import { recordDismissals } from '../platform-events/insert-events.ts';
import type { EventCursor } from '../revisions/event-cursor.ts';
import { currentEpoch, incrementRevision } from '../revisions/revisions.ts';
import type { NotificationDependencies } from './change-notifications.ts';
import { dismissalOf, dismissalTime } from './dismiss-notification.ts';
import { Notification } from './notification.entity.ts';
import type { NotificationKind } from './notification.enums.ts';
import { isOpenRequest } from './notification-filter.ts';
import type { Dismissal } from './undo-token.ts';

/** The notifications to dismiss: by ID, or all active notifications that the client has received. */
export type DismissFilter =
  | { ids: readonly string[] }
  | {
      kinds: readonly NotificationKind[] | null;
      projectIds: readonly string[] | null;
      openRequests: boolean;
      /** The last change that the client has received. A cursor of another epoch dismisses nothing. */
      upTo: EventCursor;
    };

/** The IDs of notifications that one call dismissed, oldest first, and what undoes that; `undefined` if there are none. */
export type Dismissed = { ids: string[]; dismissal: Dismissal | undefined };

/**
 * Dismisses notifications and returns those that it changed. Ignores unknown IDs and the IDs of another user's
 * notifications.
 */
export async function dismissNotifications(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  filter: DismissFilter,
): Promise<Dismissed> {
  const dismissed = await userTransaction(database.fork(), [userId], (em) =>
    dismissAll(getKysely(em), userId, 'ids' in filter ? isAmong(filter.ids) : isSeen(userId, filter)),
  );
  if (dismissed.length > 0) outbox.note([userId]);
  const records = announceRecords(announce, dismissalOf(userId), dismissed);
  const [first] = records;
  return {
    ids: records.map(({ id }) => id),
    dismissal: first && { revision: first.revision - 1, dismissedAt: first.at },
  };
}

/** Finds notifications that one call dismissed and that are still dismissed, in the order of their revisions. */
export async function findDismissed(
  em: EntityManager,
  userId: string,
  { revision, dismissedAt }: Dismissal,
  limit: number,
): Promise<string[]> {
  const found = await em.find(
    Notification,
    { userId, revision: { $gt: revision }, dismissedAt },
    { fields: ['id'], orderBy: { revision: 'asc' }, limit },
  );
  return found.map(({ id }) => id);
}

/**
 * Dismisses notifications of a user at one time, each with a revision of its own, in the order of creation. The caller must
 * have locked the user's row of `UserRevision`.
 */
function dismissAll(
  db: Kysely<Tables>,
  userId: string,
  condition: (eb: ExpressionBuilder<Tables, 'Notification'>) => Expression<SqlBool>,
) {
  const user = sql<string>`${userId}::text`;
  return db
    .with('numbered', (db) =>
      db
        .selectFrom('Notification')
        .select(['id', 'taskId', 'updatedAt'])
        .select(sql<number>`row_number() over (order by ${sql.ref('createdAt')}, id)`.as('place'))
        .where('userId', '=', userId)
        .where(condition),
    )
    .with('incremented', (db) => incrementRevision(db, 'notifications', 'numbered', user))
    .with('dismissal', (db) =>
      db.selectFrom('numbered').select(dismissalTime(sql`max(${sql.ref('updatedAt')})`).as('at')),
    )
    .with('events', (db) => recordDismissals(db, user, 'numbered'))
    .updateTable('Notification')
    .from(['numbered', 'incremented', 'dismissal'])
    .set((eb) => ({
      status: 'dismissed' as const,
      revision: eb('incremented.before', '+', eb.ref('numbered.place')),
      dismissedAt: eb.ref('dismissal.at'),
      updatedAt: eb.ref('dismissal.at'),
    }))
    .where('userId', '=', userId)
    .whereRef('Notification.id', '=', 'numbered.id')
    .returning(['Notification.id as id', 'Notification.revision as revision', 'dismissal.at as at'])
    .execute();
}

const isAmong = (ids: readonly string[]) => (eb: ExpressionBuilder<Tables, 'Notification'>) =>
  eb.and([eb('status', '<>', 'dismissed'), eb('id', '=', eb.fn.any(eb.val([...ids])))]);

type SeenFilter = Exclude<DismissFilter, { ids: readonly string[] }>;

const isSeen =
  (userId: string, { kinds, projectIds, openRequests, upTo: { epoch, revision } }: SeenFilter) =>
  (eb: ExpressionBuilder<Tables, 'Notification'>) =>
    eb.and([
      eb('status', '=', sql.lit<'active'>('active')),
      ...(kinds === null ? [] : [eb('kind', '=', eb.fn.any(eb.val([...kinds])))]),
      ...(projectIds === null ? [] : [eb('projectId', '=', eb.fn.any(eb.val([...projectIds])))]),
      ...(openRequests ? [] : [eb.not(isOpenRequest)]),
      eb('revision', '<=', revision),
      eb.exists(
        eb
          .selectFrom('UserRevision')
          .select('userId')
          .where('userId', '=', userId)
          .where(currentEpoch, '=', epoch)
          .where('notifications', '>=', revision),
      ),
    ]);
