import type { Socket } from 'node:net';
import { createReplyReader, formatPostRequest, openConnection } from './raw-http.ts';

/** Publishes numbered notifications through GraphQL. */
export type Publisher = {
  /** Publishes a notification, as soon as a connection is free. */
  send(number: number): void;
  /** Waits for all replies and closes the connections. */
  finish(): Promise<void>;
};

/** Notification `n` is published to user `n` modulo the number of users. */
type PublisherOptions = { address: string; token: string; userIds: readonly string[] };

const QUERY =
  'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created notification { ... on UserNotification { createdAt } } } }';

const CONNECTIONS = 32;

/** Creates a publisher with persistent connections. Unsuccessful replies are passed to `fail`. */
export function createPublisher(
  { address, token, userIds }: PublisherOptions,
  fail: (reason: string) => void,
): Publisher {
  const free: Socket[] = [];
  const all: Socket[] = [];
  const waiting: string[] = [];
  let pending = 0;
  let isFinished = false;
  let done = Promise.withResolvers<void>();

  function settle(socket: Socket, reply: string): void {
    if (!reply.includes('"created":true')) fail(`Publishing failed: ${reply}`);
    pending -= 1;
    if (pending === 0) done.resolve();
    const next = waiting.shift();
    if (next === undefined) free.push(socket);
    else socket.write(next, 'latin1');
  }

  for (let count = 0; count < CONNECTIONS; count += 1) {
    const read = createReplyReader((reply) => settle(socket, reply));
    const socket = openConnection(address, read, (reason) => {
      if (!isFinished) fail(reason);
    });
    free.push(socket);
    all.push(socket);
  }

  return {
    send(number) {
      if (pending === 0) done = Promise.withResolvers();
      pending += 1;
      const request = formatRequest(number);
      // In turn: the gateway closes connections that send no request for ten seconds.
      const socket = free.shift();
      if (socket === undefined) waiting.push(request);
      else socket.write(request, 'latin1');
    },
    async finish() {
      if (pending > 0) await done.promise;
      isFinished = true;
      for (const socket of all) socket.destroy();
    },
  };

  function formatRequest(number: number): string {
    const id = `event-${number}`;
    const input = {
      id,
      userId: userIds[number % userIds.length],
      title: 'Approve the plan for the cart',
      // A task of its own, so that it replaces no earlier notification.
      task: { id, projectId: 'web-shop', name: 'The cart' },
      payload: {
        planRequested: { toolId: 'tool-1', input: { summary: 'Move the cart', plan: '1. Move it' } },
      },
    };
    return formatPostRequest(address, token, JSON.stringify({ query: QUERY, variables: { input } }));
  }
}
