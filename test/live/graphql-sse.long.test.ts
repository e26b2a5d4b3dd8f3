import { createClient } from 'graphql-sse';
import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

/* The gateway works with the reference client of GraphQL over SSE without changes to it. */

const gateway = useGateway({ MAX_SUBSCRIBERS: '1' });

const query = 'subscription { notificationEvents { type notification { ... on UserNotification { id } } } }';
const connectClient = (token: string, onConnected: () => void = () => undefined) =>
  createClient({
    url: `${gateway.address}/graphql`,
    retryAttempts: 0,
    headers: { Authorization: `Bearer ${token}` },
    on: { connected: onConnected },
  });

test('a client receives events in order and frees a slot by disconnecting', async () => {
  for (const round of [1, 2]) {
    const connected = Promise.withResolvers<void>();
    const client = connectClient(await member('alice'), connected.resolve);
    const events = client.iterate({ query });
    const first = events.next();
    await connected.promise;
    const ids = [`a-${round}`, `b-${round}`];
    for (const id of ids) await publish(gateway, 'alice', 'task_failed', { id });

    const results = [(await first).value, (await events.next()).value];

    expect(results).toEqual(
      ids.map((id) => ({ data: { notificationEvents: { type: 'CREATED', notification: { id } } } })),
    );
    await events.return?.();
    client.dispose();
    await expect.poll(async () => (await scrape(gateway)).sum('gateway_live_subscribers')).toBe(0);
  }
});
