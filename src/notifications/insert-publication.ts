import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Slots } from '../database/statement.ts';
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

type InsertionSlots = Slots<Insertion>;

/**
 * Stores a draft and returns the user's new revision. Returns no row if a notification with the same ID and content is
 * stored already. Each step reads from the previous one, which fixes their order. Other content under the same ID
 * violates the primary key; publish-notifications.ts converts that to a `ConflictError`.
 *
 * - `basis` reads the values that the other steps depend on. It returns no row if the notification is stored already,
 *   so that no later step changes anything.
 * - `timed` adds `occurred`: the draft's `occurredAt`. Without one, it is now, or the newest `occurredAt` of its task
 *   and kind if that is later.
 * - `decided` marks the draft as resolved if it occurred before the newest notification of its task and kind, or if it
 *   occurred at or before the `resolvedUpTo` that `resolveNotifications` stored for them.
 * - `superseded` resolves the active notification before its successor is inserted, because only one may be active.
 * - `inserted` stores the draft, whose revision follows that of the superseded notification, if there is one.
 */
export const insertPublication = defineStatement((db, slots: InsertionSlots) =>
  insertDraft(supersedeActive(decide(db, slots), slots), slots)
    .updateTable('UserRevision')
    .from('inserted')
    .set((eb) => ({ notifications: eb.ref('inserted.revision') }))
    .where('userId', '=', slots.slot('userId'))
    .returning('notifications as revision'),
);

/** Decides whether the draft is resolved on arrival, unless the same notification is stored. */
function decide(db: Kysely<Tables>, slots: InsertionSlots) {
  const { slot } = slots;
  return db
    .with('basis', (db) => readBasis(db, slots))
    .with('timed', (db) =>
      db
        .selectFrom('basis')
        .selectAll()
        .select(
          sql<Time>`coalesce(${slot('occurredAt', 'timestamptz')}, greatest(${slot('now', 'timestamptz')}, newest))`.as(
            'occurred',
          ),
        ),
    )
    .with('decided', (db) =>
      db
        .selectFrom('timed')
        .select(['revision', 'occurred', 'changed'])
        .select(
          sql<
            string | null
          >`case when occurred < newest then 'superseded' when occurred <= "upTo" then reason end`.as(
            'resolution',
          ),
        ),
    );
}

function readBasis(db: Pick<Kysely<Tables>, 'selectFrom'>, slots: InsertionSlots) {
  const { slot } = slots;
  const related = db
    .selectFrom('Notification')
    .where('userId', '=', slot('userId'))
    .where('taskId', '=', slot('taskId'))
    .where('kind', '=', slot('kind'));
  // The timestamp of the change: `now`, but not before the `updatedAt` of the active notification of the task and kind.
  // A request that began earlier, and so has an earlier `now`, may acquire the user's lock after one that began later.
  const changed = sql<Time>`greatest(${slot('now', 'timestamptz')}, ${related.select('updatedAt').where('status', '=', active)})`;
  return db
    .selectFrom('UserRevision')
    .leftJoin('TaskResolution', (join) =>
      join
        .onRef('TaskResolution.userId', '=', 'UserRevision.userId')
        .on('TaskResolution.taskId', '=', slot('taskId'))
        .on('TaskResolution.kind', '=', slot('kind')),
    )
    .where('UserRevision.userId', '=', slot('userId'))
    .where(({ not, exists }) => not(exists(selectSame(db, slots))))
    .select([
      'UserRevision.notifications as revision',
      'TaskResolution.resolvedUpTo as upTo',
      'TaskResolution.resolvedBy as reason',
      related.select((eb) => eb.fn.max('occurredAt').as('newest')).as('newest'),
      changed.as('changed'),
    ]);
}

/** Selects the notification with the draft's ID if its content is the same. */
function selectSame(db: Pick<Kysely<Tables>, 'selectFrom'>, { slot }: InsertionSlots) {
  const occurredAt = slot('occurredAt', 'timestamptz');
  return db
    .selectFrom('Notification')
    .select('id')
    .where('userId', '=', slot('userId'))
    .where('id', '=', slot('id'))
    .where((eb) =>
      eb.and(draftContent.map((name) => sql<boolean>`${sql.ref(name)} is not distinct from ${slot(name)}`)),
    )
    .where(sql<boolean>`(${occurredAt} is null or ${sql.ref('occurredAt')} = ${occurredAt})`)
    .where(sql<boolean>`payload::jsonb = ${slot('payload', 'jsonb')}`);
}

function supersedeActive(db: ReturnType<typeof decide>, { slot }: InsertionSlots) {
  return db.with('superseded', (db) =>
    db
      .updateTable('Notification')
      .from('decided')
      .set((eb) => ({
        status: 'resolved',
        resolvedBy: 'superseded',
        revision: eb('decided.revision', '+', 1),
        resolvedAt: eb.ref('decided.changed'),
        updatedAt: eb.ref('decided.changed'),
      }))
      .where('userId', '=', slot('userId'))
      .where('taskId', '=', slot('taskId'))
      .where('kind', '=', slot('kind'))
      .where('status', '=', active)
      .where('decided.resolution', 'is', null)
      .returning('Notification.id as id'),
  );
}

function insertDraft(db: ReturnType<typeof supersedeActive>, { slot }: InsertionSlots) {
  return db.with('inserted', (db) =>
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
            sql`case when resolution is not null then changed end`.as('resolvedAt'),
            'occurred',
            'changed as createdAt',
            'changed as updatedAt',
          ]),
      )
      .returning('revision'),
  );
}
