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
 * reads from the previous one, which fixes their order: the superseded notification must be resolved before its successor
 * is inserted.
 */
export const insertPublication = statement((db, { slot }: Slots<Insertion>) => {
  const now = slot('now', 'timestamptz');
  const occurredAt = slot('occurredAt', 'timestamptz');
  return (
    db
      // Reads what the result depends on. Empty if the same notification is stored, which ends the statement.
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
      // A draft without a time occurred now, but not before the newest one: the clock of another gateway may be ahead.
      .with('timed', (db) =>
        db
          .selectFrom('known')
          .selectAll()
          .select(sql<Time>`coalesce(${occurredAt}, greatest(${now}, newest))`.as('occurred')),
      )
      // A draft that is older than the newest notification, or than a resolution of its task, is resolved at once.
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
      // Only one notification of a task and kind may be active, so an active draft resolves the previous one.
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
      // The count of `superseded` makes that step run first, and leaves the revision before this one to it.
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
      .returning('notifications')
  );
});
