import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import { decideChannels } from './channel-decision.ts';
import { draftContent, type NotificationDraft } from './notification-draft.ts';

type Insertion = Omit<NotificationDraft, 'payload'> & {
  userId: string;
  id: string;
  payload: string;
  payloadSize: number;
  /** The channels that have a provider. */
  providers: readonly DeliveryChannel[];
  now: Time;
};

/** A literal, because PostgreSQL uses the partial index only if the condition is a constant. */
const active = sql.lit<'active'>('active');

type InsertionParams = Params<Insertion>;

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
export const insertPublication = defineStatement((db, params: InsertionParams) =>
  insertDraft(supersedeActive(decide(db, params), params), params)
    .updateTable('UserRevision')
    .from('inserted')
    .set((eb) => ({ notifications: eb.ref('inserted.revision') }))
    .where('userId', '=', params.param('userId'))
    .returning('notifications as revision'),
);

/** Decides the resolution with which the draft arrives, null if it is active, unless the same notification is stored. */
function decide(db: Kysely<Tables>, params: InsertionParams) {
  const { param } = params;
  return db
    .with('basis', (db) => readBasis(db, params))
    .with('timed', (db) =>
      db
        .selectFrom('basis')
        .selectAll()
        .select(
          sql<Time>`coalesce(${param('occurredAt', 'timestamptz')}, greatest(${param('now', 'timestamptz')}, newest))`.as(
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
            'arrival',
          ),
        ),
    );
}

function readBasis(db: Pick<Kysely<Tables>, 'selectFrom'>, params: InsertionParams) {
  const { param } = params;
  const related = db
    .selectFrom('Notification')
    .where('userId', '=', param('userId'))
    .where('taskId', '=', param('taskId'))
    .where('kind', '=', param('kind'));
  // The timestamp of the change: `now`, but not before the `updatedAt` of the active notification of the task and kind.
  // A request that began earlier, and so has an earlier `now`, may acquire the user's lock after one that began later.
  const changed = sql<Time>`greatest(${param('now', 'timestamptz')}, ${related.select('updatedAt').where('status', '=', active)})`;
  return db
    .selectFrom('UserRevision')
    .leftJoin('TaskResolution', (join) =>
      join
        .onRef('TaskResolution.userId', '=', 'UserRevision.userId')
        .on('TaskResolution.taskId', '=', param('taskId'))
        .on('TaskResolution.kind', '=', param('kind')),
    )
    .where('UserRevision.userId', '=', param('userId'))
    .where(({ not, exists }) => not(exists(selectSame(db, params))))
    .select([
      'UserRevision.notifications as revision',
      'TaskResolution.resolvedUpTo as upTo',
      'TaskResolution.resolution as reason',
      related.select((eb) => eb.fn.max('occurredAt').as('newest')).as('newest'),
      changed.as('changed'),
    ]);
}

/** Selects the notification with the draft's ID if its content is the same. */
function selectSame(db: Pick<Kysely<Tables>, 'selectFrom'>, { param }: InsertionParams) {
  const occurredAt = param('occurredAt', 'timestamptz');
  return db
    .selectFrom('Notification')
    .select('id')
    .where('userId', '=', param('userId'))
    .where('id', '=', param('id'))
    .where((eb) =>
      eb.and(draftContent.map((name) => sql<boolean>`${sql.ref(name)} is not distinct from ${param(name)}`)),
    )
    .where(sql<boolean>`(${occurredAt} is null or ${sql.ref('occurredAt')} = ${occurredAt})`)
    .where(sql<boolean>`payload::jsonb = ${param('payload', 'jsonb')}`);
}

function supersedeActive(db: ReturnType<typeof decide>, { param }: InsertionParams) {
  return db.with('superseded', (db) =>
    db
      .updateTable('Notification')
      .from('decided')
      .set((eb) => ({
        status: 'resolved',
        resolution: 'superseded',
        revision: eb('decided.revision', '+', 1),
        resolvedAt: eb.ref('decided.changed'),
        updatedAt: eb.ref('decided.changed'),
      }))
      .where('userId', '=', param('userId'))
      .where('taskId', '=', param('taskId'))
      .where('kind', '=', param('kind'))
      .where('status', '=', active)
      .where('decided.arrival', 'is', null)
      .returning('Notification.id as id'),
  );
}

function insertDraft(db: ReturnType<typeof supersedeActive>, { param }: InsertionParams) {
  const decision = decideChannels({
    userId: param('userId'),
    kind: param('kind'),
    providers: param('providers', 'text[]'),
  });
  return db.with('inserted', (db) =>
    db
      .insertInto('Notification')
      .columns([
        'userId',
        'id',
        'payload',
        'payloadSize',
        'skippedChannels',
        ...draftContent,
        'revision',
        'status',
        'resolution',
        'resolvedAt',
        'occurredAt',
        'createdAt',
        'updatedAt',
      ])
      .expression((eb) =>
        eb
          .selectFrom('decided')
          .select([
            param('userId').as('userId'),
            param('id').as('id'),
            param('payload', 'json').as('payload'),
            param('payloadSize', 'int').as('payloadSize'),
            decision.as('skippedChannels'),
            ...draftContent.map((name) => param(name).as(name)),
            sql<number>`revision + 1 + (select count(*) from superseded)`.as('revision'),
            sql`case when arrival is null then 'active' else 'resolved' end`.as('status'),
            'arrival',
            sql`case when arrival is not null then changed end`.as('resolvedAt'),
            'occurred',
            'changed as createdAt',
            'changed as updatedAt',
          ]),
      )
      .returning('revision'),
  );
}
