import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunningProxy } from '../foreign/proxies.ts';
import { currentCursor, subscribeToNotifications } from '../support/inbox.ts';
import { payloads } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';

const SENDERS = 4;
/** The interval of a sender's requests, so that the load lasts for all restarts without occupying the machine. */
const INTERVAL_MS = 50;
/** The users of a proxy, to whom its senders' requests belong in turn. */
const USERS = 20;
/** How long clients wait before they subscribe again, as documented: one to two seconds. */
const resubscribeMs = () => 1000 * (1 + Math.random());

/** Returns the users of a proxy. */
const usersOf = ({ name }: RunningProxy) => Array.from({ length: USERS }, (_, number) => `${name}-${number}`);

/** Requests that are sent until stopped, and what became of them. */
export type Load = ReturnType<typeof startLoad>;

/**
 * Sends reads and changes through a proxy on kept-alive connections, until it is stopped and at least `minimum` were sent.
 */
export function startLoad(proxy: RunningProxy, minimum: number) {
  const { address } = proxy;
  const users = usersOf(proxy);
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

  /** Sends four changes, or queries by POST, for each GET. */
  async function run(sender: number): Promise<void> {
    const service = await platform();
    for (let round = 0; !isStopping || replies + lost.length < minimum; round += 1) {
      const user = users[(round * SENDERS + sender) % users.length] ?? '';
      const token = await member(user);
      const id = `n-${round}`;
      const steps = [
        () => send('POST', '/graphql', service, publication(user, id)),
        () => send('GET', '/user/notifications?limit=20', token),
        () => send('POST', '/graphql', token, { query: '{ notificationCounts { total } }' }),
        () => send('POST', '/graphql', service, publication(user, `${id}-2`)),
        () => send('POST', `/user/notifications/${id}/dismiss`, token),
      ];
      published += 2;
      for (const step of steps) {
        const ended = pause(INTERVAL_MS);
        await step();
        await ended;
      }
    }
  }

  const running = Promise.all(Array.from({ length: SENDERS }, (_, sender) => run(sender)));
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
export type Subscriber = Awaited<ReturnType<typeof startSubscriber>>;

/** Opens a number of live streams for each of a proxy's users. */
export const startSubscribers = (proxy: RunningProxy, perUser: number): Promise<Subscriber[]> =>
  Promise.all(
    usersOf(proxy).flatMap((user) => Array.from({ length: perUser }, () => startSubscriber(proxy, user))),
  );

/** Subscribes to a user's notifications, and again from the last event whenever the stream ends. */
async function startSubscriber(proxy: RunningProxy, user: string) {
  const statuses = new Map<string, string>();
  /** How each stream ended: the code of its last result, and whether it was complete. */
  const ends: string[] = [];
  let cursor = await currentCursor(proxy, user);
  let stream = await subscribeToNotifications(proxy, user, cursor);
  let isStopped = false;

  async function run(): Promise<void> {
    while (!isStopped) {
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
      await pause(resubscribeMs());
      if (!isStopped) stream = await subscribeToNotifications(proxy, user, cursor);
    }
  }

  const running = run().catch((error: unknown) => {
    if (!isStopped) ends.push(error instanceof Error ? `${error} ${error.cause}` : String(error));
  });
  return {
    user,
    statuses,
    ends,
    async stop(): Promise<void> {
      isStopped = true;
      stream.close();
      await running;
    },
  };
}
