import type { AccountEvent } from './account-events.ts';
import type { NotificationCard } from './records.ts';
import type { State } from './state.ts';

/** What events are about that a user may want to hear of. */
export type News = {
  /** Active notifications that were published, oldest first. */
  readonly arrived: readonly NotificationCard[];
  /** Notifications whose requests were settled, but not by an answer of this inbox. */
  readonly settled: readonly NotificationCard[];
};

/**
 * Returns what is new in events, compared with what was known before them.
 *
 * Events carry the latest state of a notification, not its changes. So the settlement of one that was not loaded is news
 * if it happened within `followedMs`, for how long the inbox has followed the events. Only times of the gateway are
 * compared, and only durations with those of this device: a settlement of just before the inbox followed may be reported
 * if an event of a later change, such as a receipt, is delivered late, for instance after a lost connection.
 */
export function findNews(
  { notifications }: Pick<State, 'notifications'>,
  events: readonly AccountEvent[],
  ownAnswers: ReadonlySet<string>,
  followedMs: number,
): News {
  const cards = events.flatMap(({ content }) =>
    content.__typename === 'NotificationEvent' ? [content.notification] : [],
  );
  const isSettled = ({ id, request, resolvedAt, updatedAt }: NotificationCard) => {
    if (request === null || request.state === 'OPEN' || resolvedAt === null) return false;
    const answerId = request.answer?.answerId;
    if (answerId != null && ownAnswers.has(answerId)) return false;
    const known = notifications.entries.get(id)?.item;
    if (known) return known.request?.state === 'OPEN';
    return Date.parse(updatedAt) - Date.parse(resolvedAt) <= followedMs;
  };
  return {
    arrived: cards.filter((card) => card.status === 'ACTIVE' && card.createdAt === card.updatedAt),
    settled: cards.filter(isSettled),
  };
}
