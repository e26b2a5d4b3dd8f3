import { randomBytes, randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { advisoryLocks } from '../../src/database/advisory-locks.ts';
import { createStatisticsMetrics } from '../../src/metrics/state-metrics.ts';
import { graphql, rest } from '../support/client.ts';
import { beginTransaction } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { startIssuer } from '../support/issuer.ts';
import { type Scrape, scrape } from '../support/metrics.ts';
import { startProxy } from '../support/proxy.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { publish } from '../support/records.ts';
import { answer, answers } from '../support/requests.ts';
import { freePort } from '../support/servers.ts';
import { updateStatistics } from '../support/statistics.ts';
import { member, signToken } from '../support/tokens.ts';

const gateway = useGateway({ DATABASE_POOL_SIZE: '2' });
const alice = gateway.as('alice');

/** Starts another gateway on the same database, until the end of the test. */
async function start(settings: Record<string, string> = {}, { database } = gateway): Promise<TestGateway> {
  const started = await startTestGateway(settings, database);
  onTestFinished(() => started.close());
  return started;
}

const REQUESTS = 'http_server_request_duration_seconds';
const OPERATIONS = 'graphql_operation_duration_seconds';
const ERRORS = 'gateway_errors_total';

/** Expects a metric to increase by a number; metrics are updated after the reply was sent. */
async function expectIncrease(
  name: string,
  labels: Record<string, string>,
  by: number,
  action: () => Promise<unknown>,
): Promise<void> {
  const before = (await scrape(gateway)).sum(name, labels) ?? 0;
  await action();
  await eventually(async () => expect(((await scrape(gateway)).sum(name, labels) ?? 0) - before).toBe(by));
}

test('every metric has a help text, a type and a name that ends with its unit', async () => {
  const response = await fetch(`${gateway.address}/metrics`);
  const text = await response.text();
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const { types } = await scrape(gateway);
  for (const [name, type] of types) {
    expect(text).toMatch(new RegExp(`^# HELP ${name} .+\\.$`, 'm'));
    if (type === 'counter') expect(name).toMatch(/_total$/);
    if (type === 'histogram') expect(name).toMatch(/_seconds$/);
  }
});

describe('requests', () => {
  const dismiss = '/user/notifications/{id}/dismiss';

  test.each([
    ['GET', '/user/workspaces', '/user/workspaces', '200'],
    ['POST', '/user/notifications/no-such-one/dismiss', dismiss, '404'],
    ['GET', '/user/workspaces?limit=0', '/user/workspaces', '400'],
    ['GET', '/user/workspaces/', 'unmatched', '404'],
  ])('are counted by route and status: %s %s', async (method, path, route, status) => {
    const labels = { http_request_method: method, http_route: route, http_response_status_code: status };
    const token = await member('alice');
    await expectIncrease(`${REQUESTS}_count`, labels, 1, () => rest(gateway, method, path, { token }));
  });

  test('of both APIs are counted by operation type and root field, or as `several`', async () => {
    const expectCount = (type: string, field: string, by: number, action: () => Promise<unknown>) => {
      const labels = { graphql_operation_type: type, graphql_root_field: field };
      return expectIncrease(`${OPERATIONS}_count`, labels, by, action);
    };
    await expectCount('query', 'workspaces', 2, async () => {
      await alice.rest.get('/user/workspaces');
      await alice.graphql('query Named { any: workspaces { totalCount } }');
    });
    await expectCount('mutation', 'deleteEditorAuth', 1, () => alice.rest.delete('/editor/auth'));
    const several = '{ workspaces { totalCount } editorAuth { needsReauth } }';
    await expectCount('query', 'several', 1, () => alice.graphql(several));
  });

  test('are measured in seconds', async () => {
    const sent = performance.now();
    await alice.graphql('{ notificationPreferences { pushEnabled } }');
    await eventually(async () => {
      const labels = { graphql_root_field: 'notificationPreferences' };
      const seconds = (await scrape(gateway)).sum(`${OPERATIONS}_sum`, labels);
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThan((performance.now() - sent) / 1000);
    });
  });
});

describe('errors are counted by root field and code', () => {
  const document = '{ platform { __typename } notification(id: "unknown") { __typename } }';
  const twoLists = '{ a: notifications(first: 0) { totalCount } notifications(first: 101) { totalCount } }';
  const variable = 'query ($n: Int) { notifications(first: $n) { totalCount } }';
  const loner = gateway.as(() => signToken({ sub: 'loner' }));

  test.each<[field: string, code: string, count: number, send: () => Promise<unknown>]>([
    ['platform', 'forbidden', 1, () => alice.graphql(document)],
    ['notifications', 'validation_failed', 2, () => alice.graphql(twoLists)],
    ['dismissNotification', 'not_found', 1, () => alice.rest.post('/user/notifications/unknown/dismiss')],
    ['editorAuth', 'org_membership_required', 1, () => loner.rest.get('/editor/auth')],
    // Without a root field, if the whole request is rejected.
    ['', 'unauthenticated', 1, () => rest(gateway, 'GET', '/user/workspaces')],
    ['', 'bad_request', 1, () => alice.graphql('{ unknown }')],
    ['', 'validation_failed', 1, () => alice.graphql(variable, { n: 'x' })],
    [
      '',
      'bad_request',
      1,
      async () =>
        sendRaw(gateway, rawRequest('POST /graphql', [`Authorization: Bearer ${await member('alice')}`])),
    ],
  ])('"%s", %s: %i', async (field, code, count, send) => {
    await expectIncrease(ERRORS, { graphql_root_field: field, code }, count, send);
  });

  test('with rate_limited, if the limit is reached', async () => {
    const limited = await start({ RATE_LIMIT_READS_PER_MINUTE: '1' });
    for (let count = 0; count < 3; count += 1) await limited.as('alice').rest.get('/user/workspaces');
    await eventually(async () => {
      const { sum } = await scrape(limited);
      expect(sum(ERRORS, { graphql_root_field: 'workspaces', code: 'rate_limited' })).toBe(2);
      expect(sum(`${REQUESTS}_count`, { http_response_status_code: '429' })).toBe(2);
    });
  });
});

test('requests never create labels with their own values', async () => {
  const listSeries = async (mark: string) => {
    await sendMarkedRequests(mark);
    const { samples } = await scrape(gateway);
    return samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`).sort();
  };
  const first = await listSeries(`m${randomUUID().slice(0, 8)}`);
  await eventually(async () =>
    expect(await listSeries('markedFirst')).toEqual(await listSeries('markedSecond')),
  );
  expect((await listSeries('markedThird')).join('\n')).not.toMatch(/marked/);
  // Later rounds, with values never sent before, add no series to those of the first.
  expect(await listSeries('markedFourth')).toHaveLength(first.length);

  async function sendMarkedRequests(mark: string): Promise<void> {
    const own = { token: await member(mark) };
    const authorization = `Authorization: Bearer ${own.token}`;
    await Promise.all([
      ...['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'].map((method) =>
        rest(gateway, method, `/${mark}/${mark}`, own),
      ),
      rest(gateway, 'POST', `/user/notifications/${mark}/dismiss`, own),
      rest(gateway, 'POST', `/user/notifications/%00${mark}/dismiss`, own),
      rest(gateway, 'GET', `/user/workspaces?${mark}=${mark}&limit=${mark}`, own),
      rest(gateway, 'GET', `/user/workspaces"} 1\\n${mark}{a="`, own),
      rest(gateway, 'PUT', '/user/notification-preferences', { ...own, body: { [mark]: mark } }),
      rest(gateway, 'GET', '/user/workspaces', { headers: { Authorization: `Bearer ${mark}` } }),
      rest(gateway, 'GET', '/user/workspaces', { ...own, headers: { 'X-Request-Id': mark, Origin: mark } }),
      graphql(gateway, `query ${mark} { ${mark}: workspaces { ${mark}2: totalCount } }`, {}, own),
      graphql(gateway, `query ${mark} { ${mark}: notification(id: "${mark}") { __typename } }`, {}, own),
      graphql(gateway, `{ ${mark} }`, {}, own),
      graphql(gateway, `${mark}`, {}, own),
      ...['PROPFIND', 'MKCOL', 'LOCK', 'M-SEARCH'].map((method) =>
        sendRaw(gateway, rawRequest(`${method} /${mark}`, [authorization])),
      ),
      sendRaw(gateway, rawRequest(`GET http://${mark}/${mark}`, [authorization])),
    ]);
  }
});

describe('requests of tasks', () => {
  test('are counted when they are answered, without repeated and late answers', async () => {
    const { id } = await publish(gateway, 'dora');
    const given = { id, answerId: randomUUID(), ...answers.approve };
    await expectIncrease('gateway_requests_answered_total', {}, 1, async () => {
      for (const input of [given, given, { id, ...answers.reject }]) await answer(gateway, 'dora', input);
    });
  });

  test('are counted while open and overdue, and so is what the platform feed lacks', async () => {
    const own = await startTestGateway();
    onTestFinished(() => own.close());
    /** A gateway reads at its first scrape, and then at most every 15 seconds. */
    const read = async () => {
      const other = await startTestGateway({}, own.database);
      const { sum } = await scrape(other);
      await other.close();
      const requests = ['open', 'overdue', 'overdue_seconds'].map((name) => sum(`gateway_requests_${name}`));
      return [...requests, sum('gateway_platform_feed_lag_seconds')];
    };
    const [answered, overdue] = [
      await publish(own, 'erin'),
      await publish(own, 'erin'),
      await publish(own, 'erin'),
    ];
    await publish(own, 'erin', 'task_failed');
    await answer(own, 'erin', { id: answered.id, ...answers.approve });
    await eventually(async () => expect(await read()).toEqual([2, 0, 0, 0]));

    // Keeps gateways from storing the expiry, and from giving positions.
    const blocker = await beginTransaction(
      own.database,
      `select pg_advisory_xact_lock(${advisoryLocks.positions}) from user_revision where user_id = 'erin' for update`,
    );
    const { sql } = own.database;
    await sql(`update notification set expires_at = now() - interval '1 hour' where id = $1`, [overdue.id]);
    await sql(`insert into platform_event (user_id, type, at)
      select user_id, type, now() - interval '2 hours' from platform_event limit 1`);
    const near = (seconds: number) => expect.closeTo(seconds, -2);
    expect(await read()).toEqual([2, 1, near(3600), near(7200)]);

    await blocker.query('rollback');
    await eventually(async () => expect(await read()).toEqual([1, 0, 0, 0]));
  });
});

describe('live streams', () => {
  test('are counted while open, and by duration when closed, but not as requests', async () => {
    const open = async () => (await scrape(gateway)).sum('gateway_live_subscribers');
    const ended = { graphql_root_field: 'notificationEvents' };
    await expectIncrease(`${REQUESTS}_count`, { http_route: '/graphql' }, 0, () =>
      expectIncrease('graphql_subscription_duration_seconds_count', ended, 2, async () => {
        const streams = [
          await subscribeToNotifications(gateway, 'alice'),
          await subscribeToNotifications(gateway, 'bob'),
        ];
        expect(await open()).toBe(2);
        for (const stream of streams) stream.close();
        await eventually(async () => expect(await open()).toBe(0));
      }),
    );
    expect((await scrape(gateway)).sum('gateway_listener_up')).toBe(1);
  });

  test('are measured by the delay from announcement to delivery', async () => {
    const stream = await subscribeToNotifications(gateway, 'carol');
    await expectIncrease('gateway_event_delay_seconds_count', {}, 1, async () => {
      await publish(gateway, 'carol');
      await nextEvent(stream);
    });
    const { sum } = await scrape(gateway);
    expect(sum('gateway_event_delay_seconds_sum')).toBeGreaterThan(0);
    expect(sum('gateway_event_delay_seconds_sum')).toBeLessThan(30);
    stream.close();
  });
});

describe('the database', () => {
  const connections = async () => {
    const { sum } = await scrape(gateway);
    const ofPool = (name: string, labels: Record<string, string> = {}) =>
      sum(`db_client_connection_${name}`, { db_client_connection_pool_name: 'changes', ...labels });
    return {
      max: ofPool('max'),
      used: ofPool('count', { db_client_connection_state: 'used' }),
      idle: ofPool('count', { db_client_connection_state: 'idle' }),
      pending: ofPool('pending_requests'),
    };
  };

  test('connections are counted by pool and state, together with waiting requests', async () => {
    const change = () => alice.rest.put('/user/notification-preferences', { preferences: [] });
    await change();
    // The sweep of requests briefly uses a connection every second.
    await eventually(async () => expect(await connections()).toMatchObject({ max: 2, used: 0, pending: 0 }));
    const locker = await beginTransaction(gateway.database, 'lock table notification_preference');
    const waiting = [1, 2, 3].map(change);
    // The third change waits, and perhaps the sweep.
    await eventually(async () => {
      const { pending, ...others } = await connections();
      expect(others).toEqual({ max: 2, used: 2, idle: 0 });
      expect([1, 2]).toContain(pending);
    });
    await locker.query('rollback');
    await Promise.all(waiting);
    expect(await connections()).toEqual({ max: 2, used: 0, idle: 2, pending: 0 });
  });

  test('credentials are counted by state', async () => {
    await alice.connectEditor({ accessToken: 'access-1', refreshToken: 'refresh-1' });
    await updateStatistics(gateway.database);
    const { sum } = await scrape(
      await start({ ENCRYPTION_KEYS: `k2:${randomBytes(32).toString('base64')}` }),
    );
    const states = ['connected', 'needs_reauth', 'unreadable'];
    // The credential was encrypted with a key that this gateway does not have.
    expect(states.map((state) => sum('gateway_editor_credentials', { state }))).toEqual([0, 0, 1]);
  });

  test('while unreachable, a scrape only lacks the number of credentials', async () => {
    const behind = new URL(gateway.database.url);
    const proxy = await startProxy(Number(behind.port));
    behind.port = String(proxy.port);
    const proxied = await start({ DATABASE_URL: behind.href, DATABASE_TIMEOUT_MS: '200' });
    onTestFinished(() => proxy.close());
    await proxy.setState('stall');
    await eventually(async () => {
      const { sum } = await scrape(proxied);
      expect(sum('gateway_listener_up')).toBe(0);
      expect(sum('gateway_editor_credentials')).toBeUndefined();
      expect(sum('db_client_connection_max', { db_client_connection_pool_name: 'changes' })).toBe(10);
    });
  });
});

test('reads the statistics at most once a minute, and reports no outdated numbers if reading fails', async () => {
  const registry = new Registry();
  let count = 0;
  createStatisticsMetrics(registry, async () => {
    count += 1;
    if (count > 2) throw new Error('unavailable');
    return { notifications: [], deliveries: [], credentials: [{ state: 'connected', count }] };
  });
  const readCount = async () => /^gateway_editor_credentials\{.*$/m.exec(await registry.metrics())?.[0];
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const start = Date.now();
  for (const [ms, shown] of [
    [0, 'gateway_editor_credentials{state="connected"} 1'],
    [59_999, 'gateway_editor_credentials{state="connected"} 1'],
    [60_000, 'gateway_editor_credentials{state="connected"} 2'],
    [120_000, undefined],
  ] as const) {
    vi.setSystemTime(start + ms);
    expect(await readCount()).toBe(shown);
  }
});

test('shows notifications by kind and status, and counts those that were published once', async () => {
  const kind = 'task_failed';
  /** Another gateway, because each reads the statistics at most once a minute. */
  const scrapeFresh = async () => {
    await updateStatistics(gateway.database);
    return scrape(await start({ MAX_SUBSCRIBERS: '7' }));
  };
  const countActive = ({ sum }: Scrape) => sum('gateway_notifications', { kind, status: 'active' }) ?? 0;
  const before = countActive(await scrapeFresh());
  await expectIncrease('gateway_notifications_published_total', { kind }, 1, async () => {
    const once = { id: 'once', task: { id: 'once', projectId: 'p' } };
    for (let time = 0; time < 2; time += 1) await publish(gateway, 'carol', kind, once);
  });
  const after = await scrapeFresh();
  expect(countActive(after) - before).toBe(1);
  // Combinations without records are 0, so that the first is seen as an increase.
  expect(after.sum('gateway_deliveries', { channel: 'chat', state: 'failed' })).toBe(0);
  expect(after.sum('gateway_live_subscribers_max')).toBe(7);
});

test('counts cached tokens, and reports the age of a fetched key set', async () => {
  expect((await scrape(gateway)).sum('gateway_key_set_age_seconds')).toBeUndefined();
  const issuer = await startIssuer();
  onTestFinished(() => issuer.close());
  const key = await issuer.rotate('first');
  const release = issuer.holdReplies();
  const remote = await start({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url });
  const waiting = await scrape(remote);
  expect(waiting.sum('gateway_key_set_age_seconds')).toBeUndefined();
  expect(waiting.sum('gateway_cached_tokens')).toBe(0);
  release();

  const signed = await signToken({ sub: 'alice' }, { key, header: { alg: 'ES256', kid: 'first' } });
  for (let count = 0; count < 2; count += 1)
    expect((await remote.as(async () => signed).rest.get('/user/workspaces')).status).toBe(200);
  const { sum } = await scrape(remote);
  expect(sum('gateway_cached_tokens')).toBe(1);
  expect(sum('gateway_key_set_age_seconds')).toBeGreaterThanOrEqual(0);
  expect(sum('gateway_key_set_age_seconds')).toBeLessThan(60);
});

test('counts rate limit points that were counted in memory because Redis is unreachable', async () => {
  const REDIS_URL = `redis://127.0.0.1:${await freePort()}`;
  const withoutRedis = await start({ REDIS_URL, RATE_LIMIT_READS_PER_MINUTE: '100' });
  for (let count = 0; count < 3; count += 1) await withoutRedis.as('alice').rest.get('/user/workspaces');
  const { sum } = await scrape(withoutRedis);
  expect(sum('gateway_rate_limit_fallbacks_total')).toBe(3);
  expect(sum('gateway_redis_up')).toBe(0);
});
