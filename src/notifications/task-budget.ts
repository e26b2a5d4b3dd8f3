import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { Time } from '../values/time.ts';
import { isInAnyState, isOpenRequest } from './answers/settle-request.ts';
import { codeOfTask, isSent } from './channel-decision.ts';

/*
 * What a task may use of its user's inbox by task tokens. Code in a workspace is not checked, so all of it is limited:
 * the stored notifications, the open requests, and the messages. The notifications that the platform publishes for the
 * task do not count.
 */

/** The maximum number of stored notifications. */
const MAX_STORED = 200;

/** The maximum number of open requests. */
const MAX_OPEN = 20;

/** The maximum number of notifications of a sort that are sent over channels, and the reason if there are more. */
const sentPerHour = {
  notifications: { max: 12, reason: 'task_notifications_per_hour' },
  requests: { max: 30, reason: 'task_requests_per_hour' },
} as const;

/** The maximum sizes as JSON in bytes: of a notification, and of a payload that asks for no answer. */
export const MAX_BYTES = { draft: 72 * 1024, payload: 16 * 1024 };

/** The message of the conflict if a task has as many notifications that must not be removed. */
export const STORED_MESSAGE = `The task has ${MAX_STORED} notifications, which is the maximum, and none that may be removed.`;

/** The message of the conflict if a task has too many open requests. */
export const OPEN_MESSAGE = `The task has ${MAX_OPEN} open requests, which is the maximum.`;

type TaskParams = Params<{ userId: string; taskId: string; now: Time }>;

/** Selects from the stored notifications of a task that task tokens published. */
function selectOwn(db: Pick<Kysely<Tables>, 'selectFrom'>, { param }: TaskParams) {
  return db
    .selectFrom('Notification')
    .where('userId', '=', param('userId'))
    .where('taskId', '=', param('taskId'))
    .where('byTask', '=', sql.lit(true))
    .where(isInAnyState);
}

const isRequest = sql<boolean>`(${sql.ref('requestState')} <> 'none')`;

/** Whether a notification counts for the messages of the current hour. */
function isRecentlySent({ param }: TaskParams): RawBuilder<boolean> {
  return sql`(${sql.ref('createdAt')} > ${param('now', 'timestamptz')} - interval '1 h' and ${isSent(sql.ref('skippedChannels'))})`;
}

/**
 * Whether a notification may be removed to make room: it is settled and no request. What was sent within the hour stays
 * until then, because it is what the limits of messages count.
 */
function isRemovable(params: TaskParams): RawBuilder<boolean> {
  return sql`(status <> 'active' and not ${isRequest} and not ${isRecentlySent(params)})`;
}

/** What the limits depend on, besides the stored notifications. `occurredAt` is null for now. */
type Draft = {
  userId: string;
  taskId: string;
  id: string;
  isRequest: boolean;
  occurredAt: Time | null;
  now: Time;
};

/**
 * Whether a task may publish another notification. Open requests that it supersedes, which the common table expression
 * `unsettled` selects, do not count. An ID that is taken by other content must violate the primary key.
 */
export function isWithinBudget(db: Kysely<Tables>, params: Params<Draft>): RawBuilder<boolean> {
  const { param } = params;
  const { ref } = sql;
  const occurredAt = param('occurredAt', 'timestamptz');
  const ofUser = db.selectFrom('Notification').where('userId', '=', param('userId'));
  const open = ofUser
    .where('taskId', '=', param('taskId'))
    .where(isOpenRequest)
    .where(
      sql<boolean>`not exists (select from unsettled where unsettled.id = ${ref('Notification.id')}
        and (${occurredAt} is null or ${ref('unsettled.occurredAt')} <= ${occurredAt}))`,
    )
    .select((eb) => eb.fn.countAll<number>().as('count'));
  const kept = selectOwn(db, params)
    .where(sql<boolean>`not ${isRemovable(params)}`)
    .select((eb) => eb.fn.countAll<number>().as('count'));
  const known = ofUser.where('id', '=', param('id')).select('id');
  return sql`(${kept} < ${sql.lit(MAX_STORED)} and (not ${param('isRequest', 'bool')} or ${open} < ${sql.lit(MAX_OPEN)})
    or exists ${known})`;
}

/** Selects the code of the reason why a task's notification is delivered over no channel; 0 if it may be. */
export function selectTaskCode(db: Kysely<Tables>, params: Params<Draft>): RawBuilder<number> {
  const isDraftRequest = params.param('isRequest', 'bool');
  const sent = selectOwn(db, params)
    .where(isRecentlySent(params))
    .where(sql<boolean>`${isRequest} = ${isDraftRequest}`)
    .select((eb) => eb.fn.countAll<number>().as('count'));
  const { notifications, requests } = sentPerHour;
  return sql`(select case
    when ${isDraftRequest} and sent >= ${sql.lit(requests.max)} then ${sql.lit(codeOfTask(requests.reason))}
    when not ${isDraftRequest} and sent >= ${sql.lit(notifications.max)} then ${sql.lit(codeOfTask(notifications.reason))}
    else 0 end from ${sent} as counted (sent))`;
}

/**
 * Removes what a task has above its maximum, with its deliveries: the notifications that were settled first, of those
 * that may be removed, but never the one just published. The caller has locked the user, and increments the revision if
 * there is one. Returns whether the maximum is reached by those that may not be removed.
 */
export const removeForRoom = defineStatement(
  (db, params: Params<{ userId: string; taskId: string; id: string; now: Time }>) => {
    const { param } = params;
    return db
      .with('own', (db) =>
        selectOwn(db, params).select(['id', 'updatedAt']).select(isRemovable(params).as('isRemovable')),
      )
      .with('removed', (db) =>
        db
          .deleteFrom('Notification')
          .where('userId', '=', param('userId'))
          .where('id', 'in', (eb) =>
            eb
              .selectFrom('own')
              .select('id')
              .where('isRemovable', '=', sql.lit(true))
              .where('id', '<>', param('id'))
              .orderBy('updatedAt')
              .limit(sql<number>`(select greatest(count(*) - ${sql.lit(MAX_STORED)}, 0) from own)`),
          )
          .returning('id'),
      )
      .with('deliveries', (db) =>
        db
          .deleteFrom('Delivery')
          .where('userId', '=', param('userId'))
          .where('notificationId', '=', sql<string>`any(array(select id from removed))`),
      )
      .selectFrom('own')
      .select(
        sql<boolean>`count(*) filter (where not ${sql.ref('isRemovable')}) >= ${sql.lit(MAX_STORED)}`.as(
          'isFull',
        ),
      );
  },
);
