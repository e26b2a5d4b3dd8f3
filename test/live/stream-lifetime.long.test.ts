import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { scrape } from '../support/metrics.ts';
import { publish } from '../support/records.ts';
import { openStream, type SseStream, subscribe } from '../support/sse.ts';
import { member, signToken } from '../support/tokens.ts';

const PER_USER = 20;
const query = 'subscription { notificationEvents { cursor } }';

const gateway = useGateway();
/** Accepts two subscribers in total. */
let limited: TestGateway;
beforeAll(async () => {
  limited = await startTestGateway({ MAX_SUBSCRIBERS: '2' }, gateway.database);
});
afterAll(() => limited.close());

/** Subscribes a user as soon as a place is free. */
function subscribeWhenFree(at: TestGateway, user: string): Promise<SseStream> {
  return vi.waitFor(() => subscribeToNotifications(at, user), { timeout: 10_000, interval: 20 });
}

test('a subscription returns an event stream with heartbeats', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const reply = await subscribe(gateway, query, {}, { token: await member('heart') });
  vi.advanceTimersByTime(45_000);
  vi.useRealTimers();

  expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  await eventually(() => expect(reply.stream?.heartbeats()).toBeGreaterThan(2));
  expect(reply.stream?.results).toEqual([]);
  reply.stream?.close();
});

test('ends with UNAUTHENTICATED when the token expires, and not earlier', async () => {
  const exp = Math.ceil(Date.now() / 1000) + 1;
  const stream = await openStream(gateway, query, {}, { token: await signToken({ sub: 'expiring', exp }) });

  const { data, errors } = await stream.take();

  expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000);
  expect(data ?? null).toBeNull();
  expect(errors).toEqual([expect.objectContaining({ extensions: { code: 'UNAUTHENTICATED' } })]);
  expect(await stream.ended).toBe('complete');
  expect(gateway.logLines().join()).toContain(
    '"reason":"the token has expired","msg":"authentication failed"',
  );
});

test('accepts a token that expires in a thousand years', async () => {
  const exp = Math.floor(Date.now() / 1000) + 31_536_000_000;
  const stream = await openStream(
    gateway,
    'subscription { notificationEvents { notification { ... on UserNotification { id } } } }',
    {},
    { token: await signToken({ sub: 'old', exp }) },
  );
  await publish(gateway, 'old', 'task_failed', { id: 'n' });

  expect((await nextEvent(stream)).notification.id).toBe('n');
  stream.close();
});

test(`a user has at most ${PER_USER} subscriptions of any kind; the next one returns RATE_LIMITED until one is closed`, async () => {
  const streams = await Promise.all(
    Array.from({ length: PER_USER }, () => subscribeToNotifications(gateway, 'crowd')),
  );
  const token = await member('crowd');

  for (const document of [
    query,
    'subscription { workspaceEvents { workspaceId } }',
    'subscription { editorAuthEvents { editorAuth { needsReauth } } }',
  ]) {
    const { status, headers, errors } = await subscribe(gateway, document, {}, { token });
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
  const token = await signToken({ sub: 'dashboard', scope: 'platform:read' });
  const watching = 'subscription { notificationEvents(userId: "watched") { cursor } }';
  const open = () => subscribe(gateway, watching, {}, { token });
  const replies = await Promise.all(Array.from({ length: PER_USER }, open));
  expect(replies.map(({ status }) => status)).toEqual(Array(PER_USER).fill(200));

  expect((await open()).status).toBe(429);
  (await subscribeToNotifications(gateway, 'watched')).close();
  for (const { stream } of replies) stream?.close();
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
  for (let count = 0; count < 5; count += 1) {
    const after = 'subscription { notificationEvents(after: "x") { cursor } }';
    expect((await subscribe(limited, after, {}, { token: await member('rejected') })).status).toBe(400);
    const unscoped = await signToken({ sub: 'rejected', scope: '' });
    expect((await subscribe(limited, query, {}, { token: unscoped })).status).toBe(403);
  }
  const streams = [
    await subscribeWhenFree(limited, 'rejected'),
    await subscribeWhenFree(limited, 'rejected'),
  ];
  for (const stream of streams) stream.close();
});

test('a client that disconnects before its subscription starts frees a slot', async () => {
  const places = async () => (await scrape(limited)).sum('gateway_live_subscribers');
  await eventually(async () => expect(await places()).toBe(0));
  const locker = new pg.Client({ connectionString: gateway.database.url });
  await locker.connect();
  try {
    await locker.query('begin');
    await locker.query('lock table user_revision');
    const leaving = new AbortController();
    const token = await member('disconnecting');
    const opening = [0, 1].map(() => subscribe(limited, query, {}, { token, signal: leaving.signal }));
    await eventually(async () => {
      expect(await places()).toBe(2);
      expect(await waitingSessions(gateway.database)).toBeGreaterThan(0);
    });
    leaving.abort();
    await Promise.allSettled(opening);
    await locker.query('rollback');
  } finally {
    await locker.end();
  }
  const streams = [await subscribeWhenFree(limited, 'next'), await subscribeWhenFree(limited, 'next')];
  for (const stream of streams) stream.close();
});

test('a gateway that shuts down ends its subscriptions immediately with GOING_AWAY', async () => {
  const stopping = await startTestGateway({}, gateway.database);
  const streams = await Promise.all(['a', 'a', 'b'].map((user) => subscribeToNotifications(stopping, user)));

  await stopping.close();

  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(Array(3).fill('complete'));
  for (const { results } of streams) {
    expect(results.map(({ data, errors }) => [data, errors])).toEqual([
      [
        undefined,
        [
          expect.objectContaining({
            message: 'The gateway is shutting down. Subscribe again.',
            extensions: { code: 'GOING_AWAY' },
          }),
        ],
      ],
    ]);
  }
});
