import {
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  type RawBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Params, runStatement } from '../database/statement.ts';
import { lockExisting, transaction } from '../database/transaction.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { announceRecords } from '../live/announcer.ts';
import { type EventInput, recordEvents } from '../platform-events/insert-events.ts';
import type { EventCursor } from '../revisions/event-cursor.ts';
import { currentEpoch, incrementRevision } from '../revisions/revisions.ts';
import type { Time } from '../values/time.ts';
import type { NotificationDependencies } from './change-notifications.ts';
import type { Notification } from './notification.entity.ts';
import { type NotificationKind, notificationKinds } from './notification.enums.ts';
import { isOpenRequest } from './notification-filter.ts';
import { findNotification } from './notifications.ts';
import type { Dismissal } from './undo-token.ts';

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
): Promise<Notification> {
  const input = { userId, id };
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const [dismissed] = await runStatement(database, dismiss, input);
    if (dismissed !== undefined) {
      announce({ ...dismissalOf(userId), revision: dismissed.revision });
      outbox.note([userId]);
      return dismissed;
    }
    const found = await findNotification(database, userId, id);
    if (found.status === 'dismissed') return found;
  }
  // The notification was deleted and published again between the attempts.
  throw new NotFoundError();
}

/** What a dismissal announces besides the revision. It wrote an event for each notification. */
const dismissalOf = (user: string) => ({ user, topic: 'notifications', hasEvents: true }) as const;

/** The time of a dismissal: the database's clock, but not before the last change, even if clocks differ. */
const dismissalTime = (lastChange: RawBuilder<unknown>) =>
  sql<Time>`greatest(date_trunc('milliseconds', clock_timestamp()), ${lastChange})`;

/**
 * Locks the user and then the notification, so that only the first of two concurrent dismissals changes it. The
 * statement itself locks the user, because `runStatement` does not. The property `notifications` of `UserRevision` is a
 * revision, not a count.
 */
const dismiss = defineStatement((db, params: Params<EventInput & { id: string }>) => {
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
      dismissedAt: dismissalTime(sql.ref('updatedAt')),
      updatedAt: dismissalTime(sql.ref('updatedAt')),
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
  const dismissed = await transaction(database, [userId], (run) => {
    if ('ids' in filter) return run(dismissByIds, { userId, ids: filter.ids });
    const { kinds, upTo, ...rest } = filter;
    return run(dismissSeen, { userId, kinds: kinds ?? notificationKinds, ...rest, ...upTo });
  });
  if (dismissed.length > 0) outbox.note([userId]);
  const records = announceRecords(announce, dismissalOf(userId), dismissed);
  const [first] = records;
  return {
    ids: records.map(({ id }) => id),
    dismissal: first && { revision: first.revision - 1, dismissedAt: first.at },
  };
}

/**
 * Dismisses notifications of a user at one time, each with a revision of its own, in the order of creation. The caller must
 * have locked the user's row of `UserRevision`.
 */
function dismissAll(
  db: Kysely<Tables>,
  params: Params<EventInput>,
  condition: (eb: ExpressionBuilder<Tables, 'Notification'>) => Expression<SqlBool>,
) {
  const { param } = params;
  return db
    .with('numbered', (db) =>
      db
        .selectFrom('Notification')
        .select(['id', 'taskId', 'updatedAt'])
        .select(sql<number>`row_number() over (order by ${sql.ref('createdAt')}, id)`.as('place'))
        .where('userId', '=', param('userId'))
        .where(condition),
    )
    .with('incremented', (db) => incrementRevision(db, 'notifications', 'numbered', param('userId')))
    .with('dismissal', (db) =>
      db.selectFrom('numbered').select(dismissalTime(sql`max(${sql.ref('updatedAt')})`).as('at')),
    )
    .with('events', (db) => recordEvents(db, params, ['numbered', sql`'notification.dismissed'`]))
    .updateTable('Notification')
    .from(['numbered', 'incremented', 'dismissal'])
    .set((eb) => ({
      status: 'dismissed' as const,
      revision: eb('incremented.before', '+', eb.ref('numbered.place')),
      dismissedAt: eb.ref('dismissal.at'),
      updatedAt: eb.ref('dismissal.at'),
    }))
    .where('userId', '=', param('userId'))
    .whereRef('Notification.id', '=', 'numbered.id')
    .returning(['Notification.id as id', 'Notification.revision as revision', 'dismissal.at as at']);
}

const dismissByIds = defineStatement((db, params: Params<EventInput & { ids: readonly string[] }>) =>
  dismissAll(db, params, (eb) =>
    eb.and([eb('status', '<>', 'dismissed'), eb('id', '=', sql<string>`any(${params.param('ids')})`)]),
  ),
);

type SeenInput = EventInput &
  EventCursor & {
    kinds: readonly NotificationKind[];
    projectIds: readonly string[] | null;
    openRequests: boolean;
  };

const dismissSeen = defineStatement((db, params: Params<SeenInput>) => {
  const { param } = params;
  return dismissAll(db, params, (eb) =>
    eb.and([
      eb('status', '=', sql.lit<'active'>('active')),
      eb('kind', '=', sql<NotificationKind>`any(${param('kinds')})`),
      sql<boolean>`(${param('openRequests', 'boolean')} or not ${isOpenRequest})`,
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
  );
});
