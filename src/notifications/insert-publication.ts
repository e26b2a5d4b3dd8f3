import { sql } from 'kysely';
import { type Slots, statement } from '../database/statement.ts';
import type { Time } from '../values/time.ts';
import { draftContent, type NotificationDraft } from './notification-draft.ts';

type Insertion = Omit<NotificationDraft, 'payload'> & {
  userId: string;
  id: string;
  payload: string;
  now: Time;
};

/** A literal, because PostgreSQL uses the partial index only if the condition is a constant. */
const active = sql.lit<'active'>('active');

/**
 * Stores a draft and returns the user's new revision, or no row if the same notification is stored already. Each step
 * reads from the previous one, which fixes their order.
 *
 * - `known` reads what the result depends on. It is empty if the same notification is stored.
 * - `timed` adds the default of `occurredAt`: now, but not before the newest notification.
 * - `decided` resolves a draft that is older than the newest notification, or than a resolution of its task.
 * - `superseded` resolves the active notification before its successor is inserted, because only one may be active.
 * - `inserted` counts `superseded`, whose notification gets the revision before that of the draft.
 */
export const insertPublication = statement((db, { slot }: Slots<Insertion>) => {
  const now = slot('now', 'timestamptz');
  const occurredAt = slot('occurredAt', 'timestamptz');
  return db
    .with('known', (db) =>
      db
        .selectFrom('UserRevision')
        .leftJoin('TaskResolution', (join) =>
          join
            .onRef('TaskResolution.userId', '=', 'UserRevision.userId')
            .on('TaskResolution.taskId', '=', slot('taskId'))
            .on('TaskResolution.kind', '=', slot('kind')),
        )
        .where('UserRevision.userId', '=', slot('userId'))
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('Notification')
                .select('id')
                .where('userId', '=', slot('userId'))
                .where('id', '=', slot('id'))
                .where((eb) =>
                  eb.and(
                    draftContent.map(
                      (name) => sql<boolean>`${sql.ref(name)} is not distinct from ${slot(name)}`,
                    ),
                  ),
                )
                .where(sql<boolean>`(${occurredAt} is null or occurred_at = ${occurredAt})`)
                .where(sql<boolean>`payload::jsonb = ${slot('payload', 'jsonb')}`),
            ),
          ),
        )
        .select([
          'UserRevision.notifications as revision',
          'TaskResolution.resolvedBefore as before',
          'TaskResolution.resolvedBy as reason',
        ])
        .select(({ selectFrom }) => [
          selectFrom('Notification')
            .select((eb) => eb.fn.max('occurredAt').as('newest'))
            .where('userId', '=', slot('userId'))
            .where('taskId', '=', slot('taskId'))
            .where('kind', '=', slot('kind'))
            .as('newest'),
          // Not before the superseded one's, because requests may acquire the lock out of order.
          sql<Time>`greatest(${now}, ${selectFrom('Notification')
            .select('updatedAt')
            .where('userId', '=', slot('userId'))
            .where('taskId', '=', slot('taskId'))
            .where('kind', '=', slot('kind'))
            .where('status', '=', active)})`.as('arrived'),
        ]),
    )
    .with('timed', (db) =>
      db
        .selectFrom('known')
        .selectAll()
        .select(sql<Time>`coalesce(${occurredAt}, greatest(${now}, newest))`.as('occurred')),
    )
    .with('decided', (db) =>
      db
        .selectFrom('timed')
        .select(['revision', 'occurred', 'arrived'])
        .select(
          sql<
            string | null
          >`case when occurred < newest then 'superseded' when occurred <= before then reason end`.as(
            'resolution',
          ),
        ),
    )
    .with('superseded', (db) =>
      db
        .updateTable('Notification')
        .from('decided')
        .set((eb) => ({
          status: 'resolved',
          resolvedBy: 'superseded',
          revision: eb('decided.revision', '+', 1),
          resolvedAt: eb.ref('decided.arrived'),
          updatedAt: eb.ref('decided.arrived'),
        }))
        .where('userId', '=', slot('userId'))
        .where('taskId', '=', slot('taskId'))
        .where('kind', '=', slot('kind'))
        .where('status', '=', active)
        .where('decided.resolution', 'is', null)
        .returning('Notification.id as id'),
    )
    .with('inserted', (db) =>
      db
        .insertInto('Notification')
        .columns([
          'userId',
          'id',
          'payload',
          ...draftContent,
          'revision',
          'status',
          'resolvedBy',
          'resolvedAt',
          'occurredAt',
          'createdAt',
          'updatedAt',
        ])
        .expression((eb) =>
          eb
            .selectFrom('decided')
            .select([
              slot('userId').as('userId'),
              slot('id').as('id'),
              slot('payload', 'json').as('payload'),
              ...draftContent.map((name) => slot(name).as(name)),
              sql<number>`revision + 1 + (select count(*) from superseded)`.as('revision'),
              sql`case when resolution is null then 'active' else 'resolved' end`.as('status'),
              'resolution',
              sql`case when resolution is not null then arrived end`.as('resolvedAt'),
              'occurred',
              'arrived as createdAt',
              'arrived as updatedAt',
            ]),
        )
        .returning('revision'),
    )
    .updateTable('UserRevision')
    .from('inserted')
    .set((eb) => ({ notifications: eb.ref('inserted.revision') }))
    .where('userId', '=', slot('userId'))
    .returning('notifications');
});
