import { createClient } from 'graphql-sse';
import { expect, test, vi } from 'vitest';
import { beginTransaction, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { dismiss, nextEvent, readRevision, subscribeToNotifications } from '../support/inbox.ts';
import { scrape } from '../support/metrics.ts';
import { publish } from '../support/records.ts';
import type { SseStream } from '../support/sse.ts';
import { member, platform, signToken } from '../support/tokens.ts';

const PER_USER = 20;
const query = 'subscription { notificationEvents { cursor } }';

const gateway = useGateway();
const { as } = gateway;
/** Accepts two subscribers in total. */
const limited = useGateway({ MAX_SUBSCRIBERS: '2' }, gateway);

/** Subscribes a user as soon as a place is free. */
const subscribeWhenFree = (at: TestGateway, user: string) =>
  eventually(() => subscribeToNotifications(at, user));

/** Expects that all places of the limited gateway become free. */
async function expectFreePlaces(): Promise<void> {
  const streams = [await subscribeWhenFree(limited, 'next'), await subscribeWhenFree(limited, 'next')];
  for (const stream of streams) stream.close();
}

test('a subscription returns an event stream with heartbeats', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { headers, stream } = await as('heart').subscribe(query);
  vi.advanceTimersByTime(45_000);
  vi.useRealTimers();

  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(headers.get('cache-control')).toBe('no-store');
  await eventually(() => expect(stream?.heartbeats()).toBeGreaterThan(2));
  expect(stream?.results).toEqual([]);
  stream?.close();
});

test('ends with UNAUTHENTICATED when the token expires, and not earlier', async () => {
  const exp = Math.ceil(Date.now() / 1000) + 1;
  const stream = await as(() => signToken({ sub: 'expiring', exp })).follow(query);

  const { data, errors } = await stream.take();

  expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000);
  expect(data ?? null).toBeNull();
  expect(errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
  expect(await stream.ended).toBe('complete');
  const line = '"reason":"the token has expired","msg":"authentication failed"';
  expect(gateway.logLines().join()).toContain(line);
});

test('accepts a token that expires in a thousand years', async () => {
  const exp = Math.floor(Date.now() / 1000) + 31_536_000_000;
  const stream = await as(() => signToken({ sub: 'old', exp })).follow(query);
  await publish(gateway, 'old', 'task_failed');

  expect(await nextEvent(stream)).toEqual({ cursor: expect.any(String) });
  stream.close();
});

test(`a user has at most ${PER_USER} subscriptions of any kind; the next one returns RATE_LIMITED until one is closed`, async () => {
  const places = Array.from({ length: PER_USER }, () => subscribeToNotifications(gateway, 'crowd'));
  const streams = await Promise.all(places);

  for (const document of [
    query,
    'subscription { workspaceEvents { workspaceId } }',
    'subscription { editorAuthEvents { editorAuth { needsReauth } } }',
  ]) {
    const { status, headers, errors } = await as('crowd').subscribe(document);
    expect([status, headers.get('retry-after')]).toEqual([429, '10']);
    expect(errors[0]?.message).toBe('Too many open streams. Try again in 10 s.');
    expect(errors[0]?.extensions).toEqual({ code: 'RATE_LIMITED', retryAfter: 10 });
  }
  (await subscribeToNotifications(gateway, 'another user')).close();

  streams[0]?.close();
  (await subscribeWhenFree(gateway, 'crowd')).close();
  for (const stream of streams) stream.close();
});

test("subscriptions to another user's records count against the subscriber's limit", async () => {
  const dashboard = as(() => platform('platform:read'));
  const watching = 'subscription { notificationEvents(userId: "watched") { cursor } }';
  const places = Array.from({ length: PER_USER }, () => dashboard.follow(watching));
  const streams: SseStream[] = await Promise.all(places);

  expect((await dashboard.subscribe(watching)).status).toBe(429);
  (await subscribeToNotifications(gateway, 'watched')).close();
  for (const stream of streams) stream.close();
});

test('MAX_SUBSCRIBERS limits subscriptions of all users, and a disconnected client frees a slot', async () => {
  const first = await subscribeWhenFree(limited, 'a');
  const second = await subscribeWhenFree(limited, 'b');
  await expect(subscribeToNotifications(limited, 'c')).rejects.toThrow('429');
  first.close();
  const third = await subscribeWhenFree(limited, 'c');
  await expect(subscribeToNotifications(limited, 'a')).rejects.toThrow('429');
  second.close();
  third.close();
});

test('a rejected subscription uses no slot', async () => {
  const unscoped = limited.as(() => signToken({ sub: 'rejected', scope: '' }));
  for (let count = 0; count < 5; count += 1) {
    const invalid = 'subscription { notificationEvents(after: "x") { cursor } }';
    expect((await limited.as('rejected').subscribe(invalid)).status).toBe(400);
    expect((await unscoped.subscribe(query)).status).toBe(403);
  }
  await expectFreePlaces();
});

test('a client that disconnects before its subscription starts frees a slot', async () => {
  const places = async () => (await scrape(limited)).sum('gateway_live_subscribers');
  await eventually(async () => expect(await places()).toBe(0));
  const session = await beginTransaction(gateway.database, 'lock table user_revision');
  const leaving = new AbortController();
  const opening = [0, 1].map(() => limited.as('leaving').subscribe(query, {}, { signal: leaving.signal }));
  await eventually(async () => {
    expect(await places()).toBe(2);
    expect(await waitingSessions(gateway.database)).toBeGreaterThan(0);
  });
  leaving.abort();
  await Promise.allSettled(opening);
  await session.query('rollback');
  await expectFreePlaces();
});

test('a gateway that shuts down ends its subscriptions immediately with GOING_AWAY', async () => {
  const stopping = await startTestGateway({}, gateway.database);
  const streams = await Promise.all(['a', 'a', 'b'].map((user) => subscribeToNotifications(stopping, user)));

  await stopping.close();

  for (const { ended, results } of streams) {
    expect(await ended).toBe('complete');
    const message = 'The gateway is shutting down. Subscribe again.';
    expect(results).toMatchObject([{ errors: [{ message, extensions: { code: 'GOING_AWAY' } }] }]);
  }
});

test('the reference client of GraphQL over SSE receives events in order', async () => {
  const connected = Promise.withResolvers<void>();
  const client = createClient({
    url: `${gateway.address}/graphql`,
    retryAttempts: 0,
    headers: { Authorization: `Bearer ${await member('reference')}` },
    on: { connected: () => connected.resolve() },
  });
  const fields = '{ type notification { ... on UserNotification { id } } }';
  const events = client.iterate({ query: `subscription { notificationEvents ${fields} }` });
  const first = events.next();
  await connected.promise;
  for (const id of ['a', 'b']) await publish(gateway, 'reference', 'task_failed', { id });

  expect([(await first).value, (await events.next()).value]).toEqual(
    ['a', 'b'].map((id) => ({ data: { notificationEvents: { type: 'CREATED', notification: { id } } } })),
  );
  await events.return?.();
  client.dispose();
});

test('buffers nothing for a client that does not read, which receives the current states when it reads', async () => {
  // Together far more than socket buffers hold.
  const ids = Array.from({ length: 200 }, (_none, number) => `n-${number}`);
  const payload = { taskFailed: { taskStatus: 'ERRORED', message: '\u{1F600}'.repeat(16_000) } };
  const fields =
    '... on UserNotification { id status } ... on TaskFailedNotification { payload { message } }';
  // Used again below: Node.js cancels the body of a response that was garbage collected before it is read.
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
      Authorization: `Bearer ${await member('slow')}`,
    },
    body: JSON.stringify({
      query: `subscription { notificationEvents { cursor notification { ${fields} } } }`,
    }),
  });
  for (const id of ids) await publish(gateway, 'slow', 'task_failed', { id, payload });
  for (const some of [ids.slice(0, 100), ids.slice(100)]) await dismiss(gateway, 'slow', some);

  const latest = new Map<string, string>();
  const revisions: number[] = [];
  let rest = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((line) => line.startsWith('data: '))) {
      const { notification, cursor } = JSON.parse(line.slice(6)).data.notificationEvents;
      latest.set(notification.id, notification.status);
      revisions.push(readRevision(cursor));
    }
    if (revisions.at(-1) === 2 * ids.length) break;
  }

  expect([...latest.entries()].sort()).toEqual(ids.map((id) => [id, 'DISMISSED']).sort());
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  expect(revisions.length).toBeLessThan(2 * ids.length);
});
