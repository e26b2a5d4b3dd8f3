import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { preciseNow } from './statistics.ts';

/** Puts notifications into inboxes through the gateway's front door. */
export type Publisher = {
  /** Publishes so many a second, whether or not replies come; resolves when all are answered. */
  publish(ids: readonly string[], perSecond: number, userOf: (index: number) => string): Promise<void>;
  /** When the request of each notification was sent. */
  readonly sentAt: ReadonlyMap<string, number>;
  close(): void;
};

const QUERY =
  'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created notification { ... on UserNotification { createdAt } } } }';

/** A publisher with a platform token, on connections that are kept alive. */
export function createPublisher(address: string, token: string): Publisher {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const sentAt = new Map<string, number>();
  return {
    sentAt,
    close: () => agent.destroy(),
    async publish(ids, perSecond, userOf) {
      const started = performance.now();
      const replies: Promise<void>[] = [];
      for (const [index, id] of ids.entries()) {
        const due = started + (index * 1000) / perSecond;
        if (due > performance.now()) await pause(due - performance.now());
        sentAt.set(id, preciseNow());
        replies.push(publishOne(id, userOf(index)));
      }
      await Promise.all(replies);
    },
  };

  function publishOne(id: string, userId: string): Promise<void> {
    const input = {
      id,
      userId,
      title: 'Approve the plan for the cart',
      // A task of its own: it takes the place of no earlier one.
      task: { id, projectId: 'web-shop', name: 'The cart' },
      payload: {
        planRequested: { toolId: 'tool-1', input: { summary: 'Move the cart', plan: '1. Move it' } },
      },
    };
    const body = JSON.stringify({ query: QUERY, variables: { input } });
    return new Promise((resolve, reject) => {
      const call = request(`${address}/graphql`, {
        agent,
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      });
      call.on('error', reject).on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('error', reject).on('end', () => {
          if (text.includes('"created":true')) resolve();
          else reject(new Error(`Publishing was answered ${response.statusCode}: ${text}`));
        });
      });
      call.end(body);
    });
  }
}
