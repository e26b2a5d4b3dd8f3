import type { Socket } from 'node:net';
import { createReplyReader, openConnection, postRequest } from './raw-http.ts';

/** Puts numbered notifications into inboxes through the gateway's front door. */
export type Publisher = {
  /** Publishes a notification; it waits for a connection if all are used. */
  send(number: number): void;
  /** Waits for the replies, and closes the connections. */
  finish(): Promise<void>;
};

/** Who publishes where; notification `n` goes to user `n` modulo their number. */
type Place = { address: string; token: string; userIds: readonly string[] };

const QUERY =
  'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created notification { ... on UserNotification { createdAt } } } }';

const CONNECTIONS = 32;

/** A publisher on connections that are kept alive; a reply that is no success goes to `fail`. */
export function createPublisher(
  { address, token, userIds }: Place,
  fail: (reason: string) => void,
): Publisher {
  const free: Socket[] = [];
  const all: Socket[] = [];
  const waiting: string[] = [];
  let unanswered = 0;
  let isFinished = false;
  let answered = Promise.withResolvers<void>();

  function settle(socket: Socket, reply: string): void {
    if (!reply.includes('"created":true')) fail(`Publishing was answered: ${reply}`);
    unanswered -= 1;
    if (unanswered === 0) answered.resolve();
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
      if (unanswered === 0) answered = Promise.withResolvers();
      unanswered += 1;
      const request = requestOf(number);
      const socket = free.pop();
      if (socket === undefined) waiting.push(request);
      else socket.write(request, 'latin1');
    },
    async finish() {
      if (unanswered > 0) await answered.promise;
      isFinished = true;
      for (const socket of all) socket.destroy();
    },
  };

  function requestOf(number: number): string {
    const id = `event-${number}`;
    const input = {
      id,
      userId: userIds[number % userIds.length],
      title: 'Approve the plan for the cart',
      // A task of its own: it supersedes no earlier one.
      task: { id, projectId: 'web-shop', name: 'The cart' },
      payload: {
        planRequested: { toolId: 'tool-1', input: { summary: 'Move the cart', plan: '1. Move it' } },
      },
    };
    return postRequest(address, token, JSON.stringify({ query: QUERY, variables: { input } }));
  }
}
