import { sql } from 'kysely';
import { transactionAndCancel } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { announceRecords } from '../live/announcer.ts';
import type { EventInput } from '../platform-events/insert-events.ts';
import type { Time } from '../values/time.ts';
import { isUnsettled, isUnsettledOf } from './answers/settle-request.ts';
import { type NotificationKind, notificationKinds, type ResolveReason } from './notification.enums.ts';
import type { NotificationDependencies } from './publish-notifications.ts';
import { updateWithRevisions } from './update-with-revisions.ts';

/**
 * The notifications to resolve: by ID, of these only those of `ofTask` if it is set, or those of a task. `kinds` defaults
 * to all; `toolId` selects the plans and
 * questions with this tool ID; `occurredUpTo` selects those that occurred at or before it.
 */
export type ResolveFilter =
  | { ids: readonly string[]; ofTask?: string | undefined }
  | {
      taskId: string;
      kinds?: readonly NotificationKind[] | null | undefined;
      toolId?: string | null | undefined;
      occurredUpTo?: Time | null | undefined;
    };

type Resolution = EventInput & { reason: ResolveReason; now: Time };

type TaskInput = Resolution & {
  taskId: string;
  kinds: readonly NotificationKind[];
  toolId: string | null;
  occurredUpTo: Time | null;
};

/**
 * Resolves the active notifications of a user that match the filter, withdraws their open requests and those of dismissed
 * notifications that match it, and returns the IDs of all that it changed, oldest first. With `occurredUpTo`,
 * notifications that occurred up to then but are published later are resolved too, by insert-publication.ts. Ignores
 * unknown IDs and the IDs of another user's notifications.
 */
export async function resolveNotifications(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  filter: ResolveFilter,
  reason: ResolveReason,
  now: Time,
): Promise<string[]> {
  const resolved = await transactionAndCancel({ database, outbox }, [userId], async (run) => {
    const resolution = { userId, reason, now };
    if ('ids' in filter) {
      const { ids, ofTask = null } = filter;
      return run(resolveByIds, { ...resolution, ids, ofTask });
    }
    const { taskId, kinds, toolId = null, occurredUpTo = null } = filter;
    const input = { ...resolution, taskId, kinds: kinds ?? notificationKinds, toolId, occurredUpTo };
    const stored = occurredUpTo === null ? [] : run(storeResolution, input);
    const [notifications] = await Promise.all([run(resolveOfTask, input), stored]);
    return notifications;
  });
  return announceRecords(announce, userId, 'notifications', resolved).map(({ id }) => id);
}

type IdsInput = Resolution & { ids: readonly string[]; ofTask: string | null };

const resolveByIds = defineStatement((db, params: Params<IdsInput>) => {
  const { param } = params;
  const ofTask = param('ofTask', 'text');
  return updateWithRevisions(
    db,
    params,
    (eb) =>
      eb.and([
        isUnsettled,
        eb('id', '=', sql<string>`any(${param('ids')})`),
        sql<boolean>`(${ofTask} is null or ${sql.ref('taskId')} = ${ofTask})`,
      ]),
    { status: 'resolved', resolution: param('reason') },
  ).returning(['Notification.id as id', 'Notification.revision as revision']);
});

const resolveOfTask = defineStatement((db, params: Params<TaskInput>) => {
  const { param } = params;
  const toolId = param('toolId', 'text');
  const occurredUpTo = param('occurredUpTo', 'timestamptz');
  return updateWithRevisions(
    db,
    params,
    (eb) =>
      eb.and([
        isUnsettledOf(param('userId'), param('taskId')),
        eb('kind', '=', sql<NotificationKind>`any(${param('kinds')})`),
        sql<boolean>`(${toolId} is null or payload ->> 'toolId' = ${toolId})`,
        sql<boolean>`(${occurredUpTo} is null or ${sql.ref('occurredAt')} <= ${occurredUpTo})`,
      ]),
    { status: 'resolved', resolution: param('reason') },
  ).returning(['Notification.id as id', 'Notification.revision as revision']);
});

/** Stores `occurredUpTo` and the reason for each kind, unless this time or a later one is stored. */
const storeResolution = defineStatement((db, { param }: Params<TaskInput>) =>
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
