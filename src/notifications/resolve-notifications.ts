import { sql } from 'kysely';
import { transactionAndCancel } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { announceRecords } from '../live/announce-records.ts';
import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';
import { type NotificationKind, notificationKinds, type ResolveReason } from './notification.enums.ts';
import type { NotificationDependencies } from './publish-notifications.ts';
import { updateWithRevisions } from './update-with-revisions.ts';

/**
 * A filter of a task's notifications. `kinds` defaults to all; `occurredUpTo` selects those that occurred at or before
 * it.
 */
export type TaskFilter = {
  taskId: string;
  kinds?: readonly NotificationKind[] | null | undefined;
  occurredUpTo?: Time | null | undefined;
};

type ResolveInput = {
  userId: string;
  taskId: string;
  kinds: readonly NotificationKind[];
  occurredUpTo: Time | null;
  reason: ResolveReason;
  now: Time;
};

/**
 * Resolves the active notifications of a user's task that match the filter, and returns them, oldest first. With
 * `occurredUpTo`, notifications that occurred up to then but are published later are resolved too, by
 * insert-publication.ts.
 */
export async function resolveNotifications(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  { taskId, kinds, occurredUpTo = null }: TaskFilter,
  reason: ResolveReason,
  now: Time,
): Promise<Notification[]> {
  const input: ResolveInput = {
    userId,
    taskId,
    kinds: kinds ?? notificationKinds,
    occurredUpTo,
    reason,
    now,
  };
  const [resolved] = await transactionAndCancel({ database, outbox }, [userId], (run) =>
    Promise.all([run(resolveActive, input), occurredUpTo === null ? [] : run(storeResolution, input)]),
  );
  return announceRecords(announce, userId, 'notifications', resolved);
}

const resolveActive = defineStatement((db, params: Params<ResolveInput>) => {
  const { param } = params;
  return updateWithRevisions(
    db,
    params,
    (eb) =>
      eb.and([
        eb('status', '=', sql.lit<'active'>('active')),
        eb('taskId', '=', param('taskId')),
        eb('kind', '=', sql<NotificationKind>`any(${param('kinds')})`),
        sql<boolean>`(${param('occurredUpTo', 'timestamptz')} is null or ${sql.ref('occurredAt')} <= ${param('occurredUpTo', 'timestamptz')})`,
      ]),
    { status: 'resolved', resolution: param('reason') },
  ).returningAll('Notification');
});

/** Stores `occurredUpTo` and the reason for each kind, unless this time or a later one is stored. */
const storeResolution = defineStatement((db, { param }: Params<ResolveInput>) =>
  db
    .insertInto('TaskResolution')
    .columns(['userId', 'taskId', 'kind', 'resolvedUpTo', 'resolution', 'updatedAt'])
    .expression(
      sql`select ${param('userId', 'text')}, ${param('taskId', 'text')}, kind, ${param('occurredUpTo', 'timestamptz')}, ${param('reason', 'text')},
          ${param('now', 'timestamptz')}
        from unnest(${param('kinds', 'text[]')}) as given (kind) group by kind`,
    )
    .onConflict((conflict) =>
      conflict
        .columns(['userId', 'taskId', 'kind'])
        .doUpdateSet((eb) => ({
          resolvedUpTo: eb.ref('excluded.resolvedUpTo'),
          resolution: eb.ref('excluded.resolution'),
          updatedAt: eb.ref('excluded.updatedAt'),
        }))
        .whereRef('excluded.resolvedUpTo', '>', 'TaskResolution.resolvedUpTo'),
    )
    .returning('kind'),
);
