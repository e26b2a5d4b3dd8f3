import { expect, vi } from 'vitest';
import { parseChangeCursor } from '../../src/revisions/change-cursor.ts';
import type { TestDatabase } from './database.ts';
import { asMember, type Kind, payloads, publish, resolve } from './records.ts';
import { openStream, type SseResult, type SseStream } from './sse.ts';
import { member } from './tokens.ts';

type Gateway = { address: string };

const watch = `subscription ($after: String) { notificationEvents(after: $after) {
  type cursor counts { total byKind { kind count } } notification { ... on UserNotification { id status } }
} }`;

/** Subscribes to a user's notification events; from now on unless `after` is given. */
export async function watchEvents(gateway: Gateway, user: string, after?: string): Promise<SseStream> {
  return openStream(gateway, watch, { after }, { token: await member(user) });
}

/** The revision that a cursor stands for. */
export const revisionIn = (cursor: string) => parseChangeCursor(cursor, []).revision;

/** The next event of a stream of {@link watchEvents}. */
export async function nextEvent(stream: SseStream) {
  const { data, errors } = await stream.take();
  expect(errors).toEqual([]);
  return data.notificationEvents;
}

/** A cursor of everything that happened so far. */
export async function presentCursor(gateway: Gateway, user: string): Promise<string> {
  return (await asMember(gateway, user, '{ notificationCounts { cursor } }')).notificationCounts.cursor;
}

/** Whether a result is the last one of a gateway that stops. */
const isFarewell = ({ errors }: SseResult) => errors[0]?.extensions.code === 'GOING_AWAY';

/** What a client knows of its notifications, by events alone. */
export type Inbox = {
  /** The revision of every event, in the order in which they came. */
  readonly revisions: readonly number[];
  /** Goes on behind the last event at a gateway. Resolves when the subscription is open. */
  follow(gateway: Gateway): Promise<SseStream>;
  leave(): void;
  /** Waits until it shows what the database holds, and checks that revisions always rose. */
  settles(database: TestDatabase): Promise<void>;
};

/** A client that saw everything up to a cursor; an empty one for a user without notifications. */
export function createInbox(user: string, start?: string): Inbox {
  let cursor = start;
  let current: SseStream | undefined;
  const revisions: number[] = [];
  const shown = new Map<string, { id: string; status: string; revision: number }>();
  let total = 0;

  function note({ data, errors }: SseResult): void {
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    const { notification, counts, cursor: reached } = data.notificationEvents;
    const { id, status } = notification;
    const revision = revisionIn(reached);
    cursor = reached;
    total = counts.total;
    revisions.push(revision);
    shown.set(id, { id, status: status.toLowerCase(), revision });
  }

  async function pump(stream: SseStream): Promise<void> {
    for (;;) {
      const result = await stream.take().catch(() => undefined);
      if (result === undefined || current !== stream || isFarewell(result)) return;
      note(result);
    }
  }

  return {
    revisions,
    async follow(gateway) {
      const stream = await watchEvents(gateway, user, cursor);
      current = stream;
      void pump(stream);
      return stream;
    },
    leave() {
      current?.close();
      current = undefined;
    },
    async settles(database) {
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

/** A change of some notification: published, resolved or dismissed, in turn by number. */
export async function change(gateway: Gateway, user: string, number: number): Promise<void> {
  const kinds = Object.keys(payloads) as Kind[];
  const task = { id: `task-${number % 3}`, projectId: 'project' };
  const { id } = await publish(gateway, user, kinds[number % 4], { task });
  if (number % 5 === 0) await resolve(gateway, user, task.id);
  if (number % 4 === 0) await dismiss(gateway, user, [id]);
}

/** Dismisses a user's notifications by their ids, and answers those that it changed. */
export async function dismiss(gateway: Gateway, user: string, ids: string[]): Promise<string[]> {
  return dismissBy(gateway, user, { ids });
}

/** Dismisses a user's notifications, and answers the ids of those that it changed. */
export async function dismissBy(gateway: Gateway, user: string, input: object): Promise<string[]> {
  const { dismissNotifications } = await asMember(
    gateway,
    user,
    `mutation ($input: DismissNotificationsInput!) {
      dismissNotifications(input: $input) { notifications { ... on UserNotification { id } } }
    }`,
    { input },
  );
  return dismissNotifications.notifications.map(({ id }: { id: string }) => id);
}
