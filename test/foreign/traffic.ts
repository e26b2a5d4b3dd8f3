import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { subscribeToNotifications } from '../support/inbox.ts';
import { payloads } from '../support/records.ts';
import type { SseStream } from '../support/sse.ts';
import { member, platform } from '../support/tokens.ts';
import type { RunningProxy } from './proxies.ts';

const SENDERS = 4;
/** The interval of a sender's requests, so that the load lasts for all restarts without occupying the machine. */
const INTERVAL_MS = 40;

/** Requests that are sent until stopped, and what became of them. */
export type Load = ReturnType<typeof startLoad>;

/**
 * Sends reads and changes through a proxy on kept-alive connections, until it is stopped and at least `minimum` were sent.
 */
export function startLoad({ name, address }: RunningProxy, minimum: number) {
  const lost: string[] = [];
  let replies = 0;
  let published = 0;
  let isStopping = false;

  async function send(method: string, path: string, token: string, body?: object): Promise<void> {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      const response = await fetch(`${address}${path}`, { method, headers, ...content });
      const text = await response.text();
      if (response.ok && !text.includes('"errors"')) replies += 1;
      else lost.push(`${method} ${path}: ${response.status} ${text}`);
    } catch (error) {
      lost.push(`${method} ${path}: ${error instanceof Error ? error.cause : error}`);
    }
  }

  async function run(user: string): Promise<void> {
    const token = await member(user);
    const service = await platform();
    for (let sent = 0; !isStopping || replies + lost.length < minimum; sent += 1) {
      const ended = pause(INTERVAL_MS);
      const step = sent % 5;
      const id = `n-${sent - step}`;
      if (step === 0) {
        await send('POST', '/graphql', service, publication(user, id));
        published += 1;
      } else if (step === 1) await send('GET', '/user/notifications', token);
      else if (step === 2)
        await send('POST', '/graphql', token, { query: '{ notificationCounts { total } }' });
      else if (step === 3) await send('GET', '/user/workspaces', token);
      else await send('POST', `/user/notifications/${id}/dismiss`, token);
      await ended;
    }
  }

  const running = Promise.all(Array.from({ length: SENDERS }, (_, sender) => run(`${name}-${sender}`)));
  return {
    lost,
    replies: () => replies,
    published: () => published,
    async stop(): Promise<void> {
      isStopping = true;
      await running;
    },
  };
}

function publication(userId: string, id: string) {
  const query =
    'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }';
  const task = { id: randomUUID(), projectId: 'project-1' };
  const input = { id, userId, task, title: 'A title', payload: payloads.plan_requested };
  return { query, variables: { input } };
}

/** A client of live events, and how its streams ended. */
export type Subscriber = ReturnType<typeof startSubscriber>;

/** Subscribes to the notifications of a sender's user, and again from the last event whenever the stream ends. */
export function startSubscriber(proxy: RunningProxy) {
  const user = `${proxy.name}-0`;
  const statuses = new Map<string, string>();
  /** How each stream ended: the code of its last result, and whether it was complete. */
  const ends: string[] = [];
  let stream: SseStream | undefined;
  let isStopped = false;

  async function run(): Promise<void> {
    let cursor: string | undefined;
    while (!isStopped) {
      stream = await subscribeToNotifications(proxy, user, cursor);
      let code: string | undefined;
      while (code === undefined) {
        const { data, errors } = await stream.take();
        code = errors[0]?.extensions.code;
        if (code !== undefined) break;
        const { notification } = data.notificationEvents;
        cursor = data.notificationEvents.cursor;
        statuses.set(notification.id, notification.status.toLowerCase());
      }
      ends.push(`${code} ${await stream.ended}`);
    }
  }

  const running = run().catch((error: unknown) => {
    if (!isStopped) ends.push(String(error));
  });
  return {
    user,
    statuses,
    ends,
    async stop(): Promise<void> {
      isStopped = true;
      stream?.close();
      await running;
    },
  };
}
