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

/** Returns what is new in events, compared with what was known before them. */
export function findNews(
  { notifications }: Pick<State, 'notifications'>,
  events: readonly AccountEvent[],
  ownAnswers: ReadonlySet<string>,
): News {
  const cards = events.flatMap(({ content }) =>
    content.__typename === 'NotificationEvent' ? [content.notification] : [],
  );
  const isSettled = ({ id, request, resolvedAt, updatedAt }: NotificationCard) => {
    if (request === null || request.state === 'OPEN') return false;
    const answerId = request.answer?.answerId;
    if (answerId != null && ownAnswers.has(answerId)) return false;
    const known = notifications.entries.get(id)?.item;
    // Later changes, such as receipts and dismissals, leave it resolved.
    return known ? known.request?.state === 'OPEN' : resolvedAt === updatedAt && request.receipt === null;
  };
  return {
    arrived: cards.filter((card) => card.status === 'ACTIVE' && card.createdAt === card.updatedAt),
    settled: cards.filter(isSettled),
  };
}
