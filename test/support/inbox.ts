import { expect, vi } from 'vitest';
import type { DismissNotificationsInput } from '../../clients/typescript/src/generated/types.ts';
import { parseEventCursor } from '../../src/revisions/event-cursor.ts';
import { createAs, type Given } from './as.ts';
import type { TestDatabase } from './database.ts';
import { type Kind, payloads, publish, resolve } from './records.ts';
import { openStream, type SseResult, type SseStream } from './sse.ts';
import { member } from './tokens.ts';

type Gateway = { address: string };

const SUBSCRIPTION = `subscription ($after: String) { notificationEvents(after: $after) {
  type cursor counts { total byKind { kind count } } notification { ... on UserNotification { id status } }
} }`;

/** Subscribes to a user's notification events, starting now unless `after` is given. */
export async function subscribeToNotifications(
  gateway: Gateway,
  user: string,
  after?: string,
): Promise<SseStream> {
  return openStream(gateway, SUBSCRIPTION, { after }, { token: await member(user) });
}

/** Reads the revision from a cursor. */
export const readRevision = (cursor: string) => parseEventCursor(cursor, []).revision;

/** Returns the next event of a stream that {@link subscribeToNotifications} opened. */
export async function nextEvent(stream: SseStream) {
  const { data, errors } = await stream.take();
  expect(errors).toEqual([]);
  return data.notificationEvents;
}

/** Returns the cursor of the latest change. */
export async function currentCursor(gateway: Gateway, user: string): Promise<string> {
  return (await createAs(gateway)(user).counts()).cursor;
}

/** Whether a result is the last one before a gateway shuts down. */
const isGoingAway = ({ errors }: SseResult) => errors[0]?.extensions.code === 'GOING_AWAY';

/** A client's notifications, built from events alone. */
export type Inbox = {
  /** The revision of every event, in order of arrival. */
  readonly revisions: readonly number[];
  /** Subscribes at a gateway, starting after the last event. Resolves when the subscription is open. */
  subscribe(gateway: Gateway): Promise<SseStream>;
  unsubscribe(): void;
  /**
   * Waits until the notifications match the database, and checks that every revision was greater than the one before.
   */
  expectToConverge(database: TestDatabase): Promise<void>;
};

/** Creates a client that starts at a cursor, or without one for a user without notifications. */
export function createInbox(user: string, start?: string): Inbox {
  let cursor = start;
  let current: SseStream | undefined;
  const revisions: number[] = [];
  const shown = new Map<string, { id: string; status: string; revision: number }>();
  let total = 0;

  function applyEvent({ data, errors }: SseResult): void {
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    const { notification, counts, cursor: next } = data.notificationEvents;
    const { id, status } = notification;
    const revision = readRevision(next);
    cursor = next;
    total = counts.total;
    revisions.push(revision);
    shown.set(id, { id, status: status.toLowerCase(), revision });
  }

  async function applyEvents(stream: SseStream): Promise<void> {
    for (;;) {
      const result = await stream.take().catch(() => undefined);
      if (result === undefined || current !== stream || isGoingAway(result)) return;
      applyEvent(result);
    }
  }

  return {
    revisions,
    async subscribe(gateway) {
      const stream = await subscribeToNotifications(gateway, user, cursor);
      current = stream;
      void applyEvents(stream);
      return stream;
    },
    unsubscribe() {
      current?.close();
      current = undefined;
    },
    async expectToConverge(database) {
      await vi.waitFor(
        async () => {
          const stored = await database.sql(
            'select id, status, revision::int from notification where user_id = $1 order by revision',
            [user],
          );
          expect([...shown.values()].sort((a, b) => a.revision - b.revision)).toEqual(stored);
          expect(total).toBe(stored.filter(({ status }) => status === 'active').length);
        },
        { timeout: 20_000, interval: 100 },
      );
      expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
    },
  };
}

/** Publishes a notification; depending on the number, then resolves its task or dismisses it. */
export async function changeNotifications(gateway: Gateway, user: string, number: number): Promise<void> {
  const kinds = Object.keys(payloads) as Kind[];
  const task = { id: `task-${number % 3}`, projectId: 'project' };
  const { id } = await publish(gateway, user, kinds[number % 4], { task });
  if (number % 5 === 0) await resolve(gateway, user, task.id);
  if (number % 4 === 0) await dismiss(gateway, user, [id]);
}

/** Dismisses a user's notifications, given by ID or by an input, and returns the IDs of those that changed. */
export async function dismiss(
  gateway: Gateway,
  user: string,
  given: string[] | Given<DismissNotificationsInput>,
): Promise<string[]> {
  const input = Array.isArray(given) ? { ids: given } : given;
  return (await createAs(gateway)(user).dismissAll(input)).notifications.map(({ id }) => id);
}
