import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { recordEvents } from '../platform-events/insert-events.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import { requestStates, type StoredRequestState } from './answers/answer.enums.ts';
import {
  isUnsettledOf,
  type Settlement,
  selectEventType,
  selectSettlement,
  settle,
} from './answers/settle-request.ts';
import { decideChannels } from './channel-decision.ts';
import type { Notification } from './notification.entity.ts';
import { draftContent, type NotificationDraft } from './notification-draft.ts';
import { isWithinBudget, selectTaskCode } from './task-budget.ts';
import { changeTime } from './update-with-revisions.ts';

type Insertion = Omit<NotificationDraft, 'payload' | 'supersedes' | 'onExpiry'> & {
  userId: string;
  id: string;
  payload: string;
  slot: string;
  /** Whether the publication supersedes others of its task and kind in every slot, or only in its own. */
  everySlot: boolean;
  isRequest: boolean;
  /** The default as it is stored, as JSON. */
  onExpiry: string | null;
  /** The channels that have a provider. */
  providers: readonly DeliveryChannel[];
  now: Time;
};

type InsertionParams = Params<Insertion>;

/**
 * Stores a draft and returns the user's new revision. Returns no row if a notification with the same ID and content is
 * stored already. Each step reads from the previous one, which fixes their order. Other content under the same ID
 * violates the primary key; publish-notifications.ts converts that to a `ConflictError`.
 *
 * - `unsettled` selects the active notifications and open requests that the draft supersedes, if it is not older.
 * - `basis` reads the values that the other steps depend on. It returns no row if nothing is to be stored, so that no
 *   later step changes anything.
 * - `timed` adds `occurred`: the draft's `occurredAt`. Without one, it is now, or the newest `occurredAt` of its slot and
 *   of those that it supersedes if that is later.
 * - `decided` marks the draft as resolved if it occurred before the newest notification of its slot, or if it occurred at
 *   or before the `resolvedUpTo` that `resolveNotifications` stored for its task and kind.
 * - `replaced` numbers those that the draft supersedes, and `superseded` resolves them before their successor is
 *   inserted, because only one notification in a slot may be active.
 * - `inserted` stores the draft, whose revision follows those of the superseded notifications.
 */
export const insertPublication = defineStatement((db, params: InsertionParams) => insert(db, params));

/** Does the same for a task token. Returns no row either if the task has used up its budget. */
export const insertWithinBudget = defineStatement((db, params: InsertionParams) =>
  insert(db, params, {
    isAllowed: isWithinBudget(db, params),
    taskCode: selectTaskCode(db, params),
    byTask: sql.lit(true),
  }),
);

/** Whether the draft may be stored, the code of the reason why it is delivered over no channel, and its `byTask`. */
type TaskRules = Record<'isAllowed' | 'byTask', RawBuilder<boolean>> & { taskCode: RawBuilder<number> };

const noTask: TaskRules = { isAllowed: sql.lit(true), taskCode: sql.lit(0), byTask: sql.lit(false) };

function insert(db: Kysely<Tables>, params: InsertionParams, rules = noTask) {
  return insertDraft(supersede(decide(db, params, rules), params), params, rules)
    .with('events', (db) =>
      recordEvents(
        db,
        params,
        ['replaced', selectEventType('replaced')],
        ['inserted', sql`case ${sql.ref('requestState')} when 'withdrawn' then 'notification.withdrawn' end`],
      ),
    )
    .updateTable('UserRevision')
    .from('inserted')
    .set((eb) => ({ notifications: eb.ref('inserted.revision') }))
    .where('userId', '=', params.param('userId'))
    .returning('notifications as revision');
}

/** Decides the resolution with which the draft arrives, null if it is active, unless the same notification is stored. */
function decide(db: Kysely<Tables>, params: InsertionParams, { isAllowed, taskCode }: TaskRules) {
  const { param } = params;
  return (
    db
      .with('unsettled', (db) =>
        db
          .selectFrom('Notification')
          .select(['id', 'taskId', 'createdAt', 'occurredAt', 'updatedAt'])
          .select(selectSettlement('withdrawn'))
          .where('userId', '=', param('userId'))
          .where('kind', '=', param('kind'))
          .where(isUnsettledOf(param('userId'), param('taskId')))
          .where(sql<boolean>`(${param('everySlot', 'bool')} or slot = ${param('slot')})`),
      )
      // Otherwise, PostgreSQL reads a value again for each later use of it.
      .with(
        (cte) => cte('basis').materialized(),
        (db) => readBasis(db, params).select(taskCode.as('taskCode')).where(isAllowed),
      )
      .with('timed', (db) =>
        db
          .selectFrom('basis')
          .selectAll()
          .select(
            sql<Time>`coalesce(${param('occurredAt', 'timestamptz')}, greatest(${param('now', 'timestamptz')}, newest, latest))`.as(
              'occurred',
            ),
          ),
      )
      .with('decided', (db) =>
        db
          .selectFrom('timed')
          .select(['revision', 'occurred', 'changed', 'taskCode'])
          .select(
            sql<
              string | null
            >`case when occurred < newest then 'superseded' when occurred <= "upTo" then reason end`.as(
              'arrival',
            ),
          ),
      )
  );
}

function readBasis(
  db: Pick<Kysely<Tables & { unsettled: Unsettled }>, 'selectFrom'>,
  params: InsertionParams,
) {
  const { param } = params;
  // The newest of each state is found by an index.
  const newest = sql<Time | null>`(select max(found.at) from unnest(${sql.lit(`{${requestStates.join()}}`)}::text[]) as state,
    unnest(array[true, false]) as mark, lateral (${db
      .selectFrom('Notification')
      .where('userId', '=', param('userId'))
      .where('requestState', '=', sql.ref<StoredRequestState>('state'))
      .where('taskId', '=', param('taskId'))
      .where('byTask', '=', sql.ref<boolean>('mark'))
      .where('kind', '=', param('kind'))
      .where('slot', '=', param('slot'))
      .orderBy('occurredAt', 'desc')
      .limit(sql.lit(1))
      .select('occurredAt as at')}) as found)`;
  return db
    .selectFrom('UserRevision')
    .leftJoin('TaskResolution', (join) =>
      join
        .onRef('TaskResolution.userId', '=', 'UserRevision.userId')
        .on('TaskResolution.taskId', '=', param('taskId'))
        .on('TaskResolution.kind', '=', param('kind')),
    )
    .innerJoin(
      db
        .selectFrom('unsettled')
        .select((eb) => [eb.fn.max('occurredAt').as('latest'), eb.fn.max('updatedAt').as('lastChange')])
        .as('superseding'),
      (join) => join.onTrue(),
    )
    .where('UserRevision.userId', '=', param('userId'))
    .where(({ not, exists }) => not(exists(selectSame(db, params))))
    .select([
      'UserRevision.notifications as revision',
      'TaskResolution.resolvedUpTo as upTo',
      'TaskResolution.resolution as reason',
      newest.as('newest'),
      'latest',
      // The timestamp of the change: `now`, but not before the `updatedAt` of the notifications that it supersedes. A
      // request that began earlier, and so has an earlier `now`, may acquire the user's lock after one that began later.
      sql<Time>`greatest(${param('now', 'timestamptz')}, ${sql.ref('lastChange')})`.as('changed'),
    ]);
}

type Unsettled = Pick<Notification, 'id' | 'taskId' | 'createdAt' | 'occurredAt' | 'updatedAt'> & Settlement;

/** Selects the notification with the draft's ID if its content is the same. */
function selectSame(db: Pick<Kysely<Tables>, 'selectFrom'>, params: InsertionParams) {
  const { param } = params;
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
    .where(sql<boolean>`payload::jsonb = ${param('payload', 'jsonb')}`)
    .where(isSameRequest(params));
}

/** Whether a stored notification supersedes, and expires, as the draft would. */
function isSameRequest({ param }: InsertionParams): RawBuilder<boolean> {
  const { ref } = sql;
  const [expiresAt, seconds] = [param('expiresAt', 'timestamptz'), param('expiresInSeconds', 'int')];
  return sql`(slot = ${param('slot')} and ${ref('expiresInSeconds')} is not distinct from ${seconds}
    and (${seconds} is not null or ${ref('expiresAt')} is not distinct from ${expiresAt})
    and ${ref('onExpiry')}::jsonb is not distinct from ${param('onExpiry', 'jsonb')})`;
}

function supersede(db: ReturnType<typeof decide>, { param }: InsertionParams) {
  return db
    .with('replaced', (db) =>
      db
        .selectFrom(['unsettled', 'decided'])
        .select(['unsettled.id', 'unsettled.taskId', 'settled', 'decided.revision', 'decided.changed'])
        .select(sql<number>`row_number() over (order by ${sql.ref('createdAt')}, id)`.as('place'))
        .where('decided.arrival', 'is', null)
        .whereRef('unsettled.occurredAt', '<=', 'decided.occurred'),
    )
    .with('superseded', (db) =>
      db
        .updateTable('Notification')
        .from('replaced')
        .set((eb) => ({
          ...settle('replaced', changeTime(sql.ref('replaced.changed')), sql.lit<'superseded'>('superseded')),
          revision: eb('replaced.revision', '+', eb.ref('replaced.place')),
        }))
        .where('userId', '=', param('userId'))
        .whereRef('Notification.id', '=', 'replaced.id')
        .returning('Notification.id as id'),
    );
}

function insertDraft(db: ReturnType<typeof supersede>, { param }: InsertionParams, { byTask }: TaskRules) {
  const decision = decideChannels({
    userId: param('userId'),
    kind: param('kind'),
    providers: param('providers', 'text[]'),
    taskCode: sql.ref('taskCode'),
  });
  return db.with('inserted', (db) =>
    db
      .insertInto('Notification')
      .columns([
        'userId',
        'id',
        'payload',
        'skippedChannels',
        'byTask',
        ...draftContent,
        'revision',
        'status',
        'resolution',
        'resolvedAt',
        'occurredAt',
        'createdAt',
        'updatedAt',
        'slot',
        'requestState',
        'expiresAt',
        'expiresInSeconds',
        'onExpiry',
      ])
      .expression((eb) =>
        eb.selectFrom('decided').select([
          param('userId').as('userId'),
          param('id').as('id'),
          param('payload', 'json').as('payload'),
          decision.as('skippedChannels'),
          byTask.as('byTask'),
          ...draftContent.map((name) => param(name).as(name)),
          sql<number>`revision + 1 + (select count(*) from superseded)`.as('revision'),
          sql`case when arrival is null then 'active' else 'resolved' end`.as('status'),
          'arrival',
          sql`case when arrival is not null then changed end`.as('resolvedAt'),
          'occurred',
          'changed as createdAt',
          'changed as updatedAt',
          param('slot').as('slot'),
          sql`case when not ${param('isRequest', 'bool')} then 'none' when arrival is null then 'open'
              else 'withdrawn' end`.as('requestState'),
          sql`coalesce(${param('expiresAt', 'timestamptz')},
              clock_timestamp() + make_interval(secs => ${param('expiresInSeconds', 'int')}))`.as(
            'expiresAt',
          ),
          param('expiresInSeconds', 'int').as('expiresInSeconds'),
          param('onExpiry', 'json').as('onExpiry'),
        ]),
      )
      .returning(['id', 'taskId', 'revision', 'requestState']),
  );
}
