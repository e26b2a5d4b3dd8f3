import { type Expression, type RawBuilder, sql } from 'kysely';
import type { Time } from '../../values/time.ts';
import type { Resolution } from '../notification.enums.ts';
import type { StoredRequestState } from './answer.enums.ts';
import type { Answer } from './answer.ts';

const { ref } = sql;

/** Whether a notification asks its user for an answer: `asksUser` of answer.ts in SQL. */
export const asksUser: RawBuilder<boolean> = sql`case kind when 'task_failed' then false
  when 'task_response_ready' then payload ->> 'taskStatus' = 'awaiting_input' else true end`;

/**
 * Whether a notification is an open request. One that a gateway before version 0.3.0 resolved is not. Of one that such a
 * gateway stored, the state may be unknown yet.
 */
export const isOpenRequest: RawBuilder<boolean> = sql`(${ref('resolvedAt')} is null
  and case when ${ref('requestState')} is null then ${asksUser} else ${ref('requestState')} = 'open' end)`;

/** The state of a request as it is shown: `findRequestState` of answer.ts in SQL. Null for other notifications. */
export const shownState: RawBuilder<string | null> = sql`case when ${ref('requestState')} = 'open'
  and ${ref('resolvedAt')} is not null then 'withdrawn' else nullif(${ref('requestState')}, 'none') end`;

/** Whether a request is shown as open. */
export const isOpenState: RawBuilder<boolean> = sql`(${ref('requestState')} = 'open' and ${ref('resolvedAt')} is null)`;

/** Whether an open request has expired. Uses the database's clock, once the user is locked. */
const isDue = sql<boolean>`coalesce(${ref('expiresAt')} <= clock_timestamp(), false)`;

/**
 * The notifications that are active or have an open request, which an index finds. What a gateway before version 0.3.0
 * resolved is settled, even if its request is not.
 */
export const isUnsettled: RawBuilder<boolean> = sql`((status = 'active' or ${ref('requestState')} = 'open')
  and ${ref('resolvedAt')} is null)`;

/**
 * Selects how a request is settled: `settled`, null if it is not open, and `taken`, whether its default becomes the
 * answer. An expiry that is due comes before anything else that would settle the request.
 */
export function selectSettlement(otherwise: 'answered' | 'withdrawn') {
  return [
    sql<StoredRequestState | null>`case when not ${isOpenRequest} then null when not ${isDue} then ${sql.lit(otherwise)}
      when ${ref('onExpiry')} is null then 'expired' else 'answered' end`.as('settled'),
    sql<boolean>`${isDue} and ${ref('onExpiry')} is not null`.as('taken'),
  ] as const;
}

/** The columns that {@link selectSettlement} adds to a common table expression. */
export type Settlement = { settled: StoredRequestState | null; taken: boolean };

/**
 * Assigns the columns of notifications that are settled. Notifications without an open request are resolved, and those
 * that were dismissed stay so.
 * @param from the common table expression with the columns of {@link selectSettlement}
 * @param resolution the resolution, unless the request expired
 */
export function settle(
  from: string,
  time: Expression<Time>,
  resolution: Expression<Resolution>,
  answer?: Expression<Answer>,
) {
  const [settled, taken] = [ref(`${from}.settled`), ref(`${from}.taken`)];
  return {
    status: sql<'resolved'>`case status when 'active' then 'resolved' else status end`,
    resolution: sql<Resolution>`case when ${taken} then 'answered' when ${settled} = 'expired' then null
      else ${resolution} end`,
    resolvedAt: time,
    updatedAt: time,
    requestState: sql<StoredRequestState>`coalesce(${settled}, ${ref('requestState')})`,
    answer: sql<Answer>`case when ${taken} then ${ref('onExpiry')} else ${answer ?? ref('answer')} end`,
  };
}

/** The type of the event of a settled request; null if no request was settled. */
export function selectEventType(from: string): RawBuilder<string | null> {
  return sql`'notification.' || ${ref(`${from}.settled`)}`;
}
