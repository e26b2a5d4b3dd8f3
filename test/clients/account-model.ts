import type { AccountEvent } from '../../clients/typescript/src/account-events.ts';
import type { Page } from '../../clients/typescript/src/collection.ts';
import { matchesNotification } from '../../clients/typescript/src/filters.ts';
import type {
  NotificationFilter,
  NotificationKind,
  RequestState,
} from '../../clients/typescript/src/generated/types.ts';
import type { KnownNotificationCard, NotificationCard } from '../../clients/typescript/src/records.ts';
import type { CountsWithCursor } from '../../clients/typescript/src/state.ts';

const KINDS = ['PLAN_REQUESTED', 'QUESTION_REQUESTED', 'TASK_FAILED', 'TASK_RESPONSE_READY'] as const;

/** Creates a notification as the gateway returns it. */
export function createCard(
  changes: Partial<Omit<KnownNotificationCard, '__typename' | 'payload'>> & { readonly id: string },
): KnownNotificationCard {
  const at = changes.createdAt ?? '2026-01-01T00:00:00.000Z';
  return {
    ref: `ref of ${changes.id}`,
    kind: 'PLAN_REQUESTED',
    status: 'ACTIVE',
    title: 'A title',
    previewText: null,
    task: { id: `task of ${changes.id}`, name: null, projectId: 'project', workspaceId: null },
    projectName: null,
    projectRepoUrl: null,
    prUrl: null,
    occurredAt: at,
    createdAt: at,
    updatedAt: at,
    dismissedAt: null,
    resolvedAt: null,
    resolution: null,
    request: null,
    ...changes,
    __typename: 'PlanRequestedNotification',
    payload: { summary: 'In short', plan: '1. Do it', input: { summary: 'In short', plan: '1. Do it' } },
  };
}

/** Creates a request of a notification. */
export const createRequest = (state: RequestState) => ({
  state,
  expiresAt: null,
  onExpiry: null,
  answer: null,
  receipt: null,
});

/** A gateway with the notifications of one user. */
export class AccountModel {
  readonly #cards = new Map<string, KnownNotificationCard>();
  #milliseconds = 0;
  /** Events that were not delivered yet. */
  events: AccountEvent[] = [];

  get cards(): readonly KnownNotificationCard[] {
    return [...this.#cards.values()];
  }

  /** Lets time pass, or none, so that two changes have the same time. */
  pass(milliseconds: number): void {
    this.#milliseconds += milliseconds;
  }

  publish(kind: NotificationKind, projectId: string): void {
    const at = this.#now();
    // Not in the order of creation, so that the IDs of one millisecond matter.
    const number = this.#cards.size;
    const id = `${(number * 7) % 10}-${number}`;
    const task = { id: `task-${number}`, name: null, projectId, workspaceId: null };
    const request = kind === 'TASK_FAILED' ? null : createRequest('OPEN');
    this.#store(createCard({ id, kind, task, request, createdAt: at }));
  }

  /** Dismisses a notification, and returns it. */
  dismiss(id: string): NotificationCard | undefined {
    const card = this.#cards.get(id);
    if (card === undefined || card.status === 'DISMISSED') return card;
    const at = this.#timeOfChange(card);
    return this.#store({ ...card, status: 'DISMISSED', dismissedAt: at, updatedAt: at });
  }

  /** Restores a dismissed notification, and returns it. */
  restore(id: string): NotificationCard | undefined {
    const card = this.#cards.get(id);
    if (card?.status !== 'DISMISSED') return card;
    const status = card.resolvedAt === null ? 'ACTIVE' : 'RESOLVED';
    return this.#store({ ...card, status, dismissedAt: null, updatedAt: this.#timeOfChange(card) });
  }

  /** Settles the request of a notification, and returns it. */
  settle(id: string, state: RequestState): NotificationCard | undefined {
    const card = this.#cards.get(id);
    if (card?.request?.state !== 'OPEN') return card;
    const at = this.#timeOfChange(card);
    const settled = { ...card, request: createRequest(state), updatedAt: at };
    if (card.status !== 'ACTIVE') return this.#store(settled);
    const resolution = state === 'ANSWERED' ? 'ANSWERED' : 'RESUMED';
    return this.#store({ ...settled, status: 'RESOLVED', resolution, resolvedAt: at });
  }

  /** Dismisses all active notifications but open requests, and returns what the gateway does. */
  dismissAll() {
    const active = this.cards.filter(
      ({ status, request }) => status === 'ACTIVE' && request?.state !== 'OPEN',
    );
    const notifications = active.flatMap(({ id }) => this.dismiss(id) ?? []);
    return { dismissedCount: active.length, undoToken: null, notifications };
  }

  /** Returns all notifications that match a filter, newest first. */
  list(filter: NotificationFilter): readonly KnownNotificationCard[] {
    const sortKey = ({ createdAt, id }: NotificationCard) => `${createdAt} ${id}`;
    return this.cards
      .filter((card) => matchesNotification(filter, card))
      .sort((one, other) => (sortKey(one) > sortKey(other) ? -1 : 1));
  }

  /** Returns a page, whose cursor is the ID of its last notification. */
  page(filter: NotificationFilter, first: number, after: string | null = null): Page<NotificationCard> {
    // The notification of the cursor may not match any more.
    const all = this.list({});
    const rest = all.slice(all.findIndex(({ id }) => id === after) + 1);
    const matching = rest.filter((card) => matchesNotification(filter, card));
    const nodes = matching.slice(0, first);
    const endCursor = nodes.at(-1)?.id ?? null;
    return { nodes, pageInfo: { hasNextPage: matching.length > first, endCursor } };
  }

  counts(): CountsWithCursor {
    const active = this.cards.filter(({ status }) => status === 'ACTIVE');
    return {
      ref: 'ref of counts',
      cursor: 'cursor',
      total: active.length,
      openRequests: this.cards.filter(({ request }) => request?.state === 'OPEN').length,
      byKind: KINDS.map((kind) => ({ kind, count: active.filter((card) => card.kind === kind).length })),
    };
  }

  #now = () => new Date(Date.UTC(2026, 0, 1) + this.#milliseconds).toISOString();

  /** Changes of a dismissed notification are always later than the change before. */
  #timeOfChange({ status, updatedAt }: KnownNotificationCard): string {
    const earliest = Date.parse(updatedAt) + (status === 'DISMISSED' ? 1 : 0);
    return new Date(Math.max(Date.parse(this.#now()), earliest)).toISOString();
  }

  #store(card: KnownNotificationCard): NotificationCard {
    this.#cards.set(card.id, card);
    this.events.push(
      { cursor: '', content: { __typename: 'NotificationEvent', notification: card } },
      { cursor: '', content: { __typename: 'NotificationCounts', ...this.counts() } },
    );
    return card;
  }
}
