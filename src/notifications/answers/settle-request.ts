import { type Expression, type RawBuilder, sql } from 'kysely';
import type { Time } from '../../values/time.ts';
import type { Resolution } from '../notification.enums.ts';
import { requestStates, type StoredRequestState } from './answer.enums.ts';
import type { Answer } from './answer.ts';

const { ref } = sql;

/** Whether a notification is an open request. */
export const isOpenRequest: RawBuilder<boolean> = sql`(${ref('requestState')} = 'open')`;

/** Whether the time of a request has come. Uses the database's clock, once the user is locked. */
export const isDue = sql<boolean>`coalesce(${ref('expiresAt')} <= clock_timestamp(), false)`;

/** Is always true, and finds the notifications of a task by an index in which the state precedes the task. */
export const isInAnyState = sql<boolean>`(${ref('requestState')} = any(${sql.lit(`{${requestStates.join()}}`)}))`;

/** The notifications that are active or have an open request. */
export const isUnsettled: RawBuilder<boolean> = sql`(status = 'active' or ${ref('requestState')} = 'open')`;

/** Those of a task. Each condition has an index, which both together do not have. */
export function isUnsettledOf(userId: Expression<string>, taskId: Expression<string>): RawBuilder<boolean> {
  const select = (condition: RawBuilder<boolean>) => sql`select id from ${sql.table('Notification')}
    where ${ref('userId')} = ${userId} and ${ref('taskId')} = ${taskId} and ${condition}`;
  return sql`(id = any(array(${select(sql`status = 'active'`)} union all ${select(isOpenRequest)})))`;
}

/** How a request is settled. `default`: its default becomes the answer. */
type SettledBy = 'answered' | 'expired' | 'withdrawn' | 'default';

/**
 * Selects how a request is settled; null if it is not open. An expiry that is due comes before anything else that would
 * settle the request. The clock is read once, so that all that depends on it agrees.
 */
export function selectSettlement(otherwise: 'answered' | 'withdrawn') {
  return sql<SettledBy | null>`case when not ${isOpenRequest} then null when not ${isDue} then ${sql.lit(otherwise)}
    when ${ref('onExpiry')} is null then 'expired' else 'default' end`.as('settled');
}

/** The column that {@link selectSettlement} adds to a common table expression. */
export type Settlement = { settled: SettledBy | null };

/** The state of a request that is settled. */
function stateOf(settled: RawBuilder<unknown>): RawBuilder<StoredRequestState | null> {
  return sql`(case ${settled} when 'default' then 'answered' else ${settled} end)`;
}

/**
 * Assigns the columns of notifications that are settled. Notifications without an open request are resolved, and those
 * that were dismissed stay so.
 * @param from the common table expression with the column of {@link selectSettlement}
 * @param resolution the resolution, unless the request has expired
 */
export function settle(
  from: string,
  time: Expression<Time>,
  resolution: Expression<Resolution>,
  answer?: Expression<Answer>,
) {
  const settled = ref(`${from}.settled`);
  return {
    status: sql<'resolved'>`case status when 'active' then 'resolved' else status end`,
    resolution: sql<Resolution>`case ${settled} when 'default' then 'answered' when 'expired' then 'expired'
      else ${resolution} end`,
    resolvedAt: time,
    updatedAt: time,
    requestState: sql<StoredRequestState>`coalesce(${stateOf(settled)}, ${ref('requestState')})`,
    answer: sql<Answer>`case ${settled} when 'default' then ${ref('onExpiry')} else ${answer ?? ref('answer')} end`,
  };
}

/** The type of the event of a settled request; null if no request was settled. */
export function selectEventType(from: string): RawBuilder<string | null> {
  return sql`'notification.' || ${stateOf(ref(`${from}.settled`))}`;
}
