import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { Registry } from 'prom-client';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { advisoryLocks } from '../../src/database/advisory-locks.ts';
import { createStatisticsMetrics } from '../../src/metrics/state-metrics.ts';
import { graphql, rest } from '../support/client.ts';
import { waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { startIssuer } from '../support/issuer.ts';
import { scrape } from '../support/metrics.ts';
import { startProxy } from '../support/proxy.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { asMember, publish } from '../support/records.ts';
import { answer, answers } from '../support/requests.ts';
import { freePort } from '../support/servers.ts';
import { updateStatistics } from '../support/statistics.ts';
import { member, signToken } from '../support/tokens.ts';

const gateway = useGateway({ DATABASE_POOL_SIZE: '2' });
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

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
  expect([...types.keys()].sort()).toEqual([
    'db_client_connection_count',
    'db_client_connection_max',
    'db_client_connection_pending_requests',
    'gateway_cached_tokens',
    'gateway_deliveries',
    'gateway_editor_credentials',
    ERRORS,
    'gateway_event_delay_seconds',
    'gateway_key_set_age_seconds',
    'gateway_key_set_max_age_seconds',
    'gateway_listener_up',
    'gateway_live_subscribers',
    'gateway_live_subscribers_max',
    'gateway_notifications',
    'gateway_notifications_published_total',
    'gateway_platform_feed_lag_seconds',
    'gateway_rate_limit_fallbacks_total',
    'gateway_requests_answered_total',
    'gateway_requests_open',
    'gateway_requests_overdue',
    'gateway_requests_overdue_seconds',
    OPERATIONS,
    'graphql_subscription_duration_seconds',
    REQUESTS,
  ]);
});

describe('requests', () => {
  const dismiss = '/user/notifications/{id}/dismiss';

  test.each([
    ['GET', '/user/workspaces', '/user/workspaces', '200'],
    ['POST', '/user/notifications/no-such-one/dismiss', dismiss, '404'],
    ['POST', '/user/notifications//dismiss', dismiss, '422'],
    ['GET', '/user/workspaces?limit=0', '/user/workspaces', '400'],
    ['DELETE', '/user/workspaces', '/user/workspaces', '404'],
    ['GET', '/user/workspaces/', 'unmatched', '404'],
  ])('are counted by route and status: %s %s', async (method, path, route, status) => {
    const labels = { http_request_method: method, http_route: route, http_response_status_code: status };
    await expectIncrease(`${REQUESTS}_count`, labels, 1, () => rest(gateway, method, path, { token }));
  });

  test('of both APIs are counted by operation type and root field, or as `several`', async () => {
    const labels = (type: string, field: string) => ({
      graphql_operation_type: type,
      graphql_root_field: field,
    });
    const count = `${OPERATIONS}_count`;
    await expectIncrease(count, labels('query', 'workspaces'), 2, async () => {
      await rest(gateway, 'GET', '/user/workspaces', { token });
      await asMember(gateway, 'alice', 'query Named { any: workspaces { totalCount } }');
    });
    await expectIncrease(count, labels('mutation', 'deleteEditorAuth'), 1, () =>
      rest(gateway, 'DELETE', '/editor/auth', { token }),
    );
    await expectIncrease(count, labels('query', 'several'), 1, () =>
      asMember(gateway, 'alice', '{ workspaces { totalCount } editorAuth { needsReauth } }'),
    );
  });

  test('are measured in seconds', async () => {
    const labels = { graphql_root_field: 'notificationPreferences' };
    const locker = new pg.Client({ connectionString: gateway.database.url });
    await locker.connect();
    await locker.query('begin');
    await locker.query('lock table notification_preference');
    const sent = performance.now();
    const reply = asMember(gateway, 'alice', '{ notificationPreferences { pushEnabled } }');
    await eventually(async () => {
      expect(await waitingSessions(gateway.database)).toBe(1);
    });
    const waiting = performance.now();
    await scrape(gateway);
    const minimum = (performance.now() - waiting) / 1000;
    await locker.query('rollback');
    await locker.end();
    await reply;
    const maximum = (performance.now() - sent) / 1000;
    await eventually(async () => {
      const seconds = (await scrape(gateway)).sum(`${OPERATIONS}_sum`, labels) ?? 0;
      expect(seconds).toBeGreaterThan(minimum);
      expect(seconds).toBeLessThan(maximum);
    });
  });
});

describe('errors are counted by root field and code', () => {
  const document = '{ platform { __typename } notification(id: "unknown") { __typename } }';

  test('individually, if only some fields fail', async () => {
    await expectIncrease(ERRORS, { graphql_root_field: 'platform', code: 'forbidden' }, 1, () =>
      graphql(gateway, document, {}, { token }),
    );
    await expectIncrease(ERRORS, { graphql_root_field: 'notification', code: 'not_found' }, 1, () =>
      graphql(gateway, document, {}, { token }),
    );
    await expectIncrease(ERRORS, { graphql_root_field: 'notifications', code: 'validation_failed' }, 2, () =>
      graphql(
        gateway,
        '{ a: notifications(first: 0) { totalCount } notifications(first: 101) { totalCount } }',
        {},
        { token },
      ),
    );
  });

  test('once over REST', async () => {
    await expectIncrease(ERRORS, {}, 1, () =>
      rest(gateway, 'POST', '/user/notifications/unknown/dismiss', { token }),
    );
    await expectIncrease(
      ERRORS,
      { graphql_root_field: 'editorAuth', code: 'org_membership_required' },
      1,
      async () => rest(gateway, 'GET', '/editor/auth', { token: await signToken({ sub: 'loner' }) }),
    );
  });

  test.each([
    ['unauthenticated', () => rest(gateway, 'GET', '/user/workspaces')],
    ['unauthenticated', () => graphql(gateway, document)],
    ['bad_request', () => graphql(gateway, '{ unknown }', {}, { token })],
    ['bad_request', () => graphql(gateway, '{', {}, { token })],
    [
      'validation_failed',
      () =>
        graphql(
          gateway,
          'query ($n: Int) { notifications(first: $n) { totalCount } }',
          { n: 'x' },
          { token },
        ),
    ],
    ['bad_request', () => sendRaw(gateway, rawRequest('POST /graphql', [`Authorization: Bearer ${token}`]))],
  ])('with %s and without a root field, if the whole request is rejected', async (code, send) => {
    await expectIncrease(ERRORS, { graphql_root_field: '', code }, 1, send);
  });

  test('with rate_limited, if the limit is reached', async () => {
    const limited = await startTestGateway({ RATE_LIMIT_READS_PER_MINUTE: '1' }, gateway.database);
    for (let count = 0; count < 3; count += 1) await rest(limited, 'GET', '/user/workspaces', { token });
    await eventually(async () => {
      const { sum } = await scrape(limited);
      expect(sum(ERRORS, { graphql_root_field: 'workspaces', code: 'rate_limited' })).toBe(2);
      expect(sum(`${REQUESTS}_count`, { http_response_status_code: '429' })).toBe(2);
    });
    await limited.close();
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
    const blocker = new pg.Client({ connectionString: own.database.url });
    await blocker.connect();
    /** A gateway reads at its first scrape, and then at most every 15 seconds. */
    const read = async () => {
      const other = await startTestGateway({}, own.database);
      const { sum } = await scrape(other);
      await other.close();
      const names = [
        'requests_open',
        'requests_overdue',
        'requests_overdue_seconds',
        'platform_feed_lag_seconds',
      ];
      return names.map((name) => sum(`gateway_${name}`));
    };
    const published = [await publish(own, 'erin'), await publish(own, 'erin'), await publish(own, 'erin')];
    await publish(own, 'erin', 'task_failed');
    await answer(own, 'erin', { id: published[0]?.id, ...answers.approve });
    await eventually(async () => expect(await read()).toEqual([2, 0, 0, 0]));

    // Keeps gateways from storing the expiry, and from giving positions.
    await blocker.query('begin');
    await blocker.query(`select from user_revision where user_id = 'erin' for update`);
    await blocker.query('select pg_advisory_xact_lock($1)', [advisoryLocks.positions]);
    await own.database.sql(`update notification set expires_at = now() - interval '1 hour' where id = $1`, [
      published[1]?.id,
    ]);
    await own.database.sql(`insert into platform_event (user_id, type, at)
      select user_id, type, now() - interval '2 hours' from platform_event limit 1`);
    const near = (seconds: number) => expect.closeTo(seconds, -2);
    expect(await read()).toEqual([2, 1, near(3600), near(7200)]);

    await blocker.query('rollback');
    await blocker.end();
    await eventually(async () => expect(await read()).toEqual([1, 0, 0, 0]));
    await own.close();
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
  const connections = async (pool: string) => {
    const { sum } = await scrape(gateway);
    const ofPool = (name: string, labels: Record<string, string> = {}) =>
      sum(`db_client_connection_${name}`, { db_client_connection_pool_name: pool, ...labels });
    return {
      max: ofPool('max'),
      used: ofPool('count', { db_client_connection_state: 'used' }),
      idle: ofPool('count', { db_client_connection_state: 'idle' }),
      pending: ofPool('pending_requests'),
    };
  };

  test('connections are counted by pool and state, together with waiting requests', async () => {
    const change = async () => {
      const body = { preferences: [] };
      await rest(gateway, 'PUT', '/user/notification-preferences', { token, body });
    };
    await change();
    // The sweep of requests briefly uses a connection every second.
    await eventually(async () =>
      expect(await connections('changes')).toMatchObject({ max: 2, used: 0, pending: 0 }),
    );
    const locker = new pg.Client({ connectionString: gateway.database.url });
    await locker.connect();
    await locker.query('begin');
    await locker.query('lock table notification_preference');
    const waiting = [1, 2, 3].map(change);
    // The third change waits, and perhaps the sweep.
    await eventually(async () => {
      const { pending, ...others } = await connections('changes');
      expect(others).toEqual({ max: 2, used: 2, idle: 0 });
      expect([1, 2]).toContain(pending);
    });
    await locker.query('rollback');
    await locker.end();
    await Promise.all(waiting);
    expect(await connections('changes')).toEqual({ max: 2, used: 0, idle: 2, pending: 0 });
  });

  test.each([
    ['short_reads', '/editor/auth'],
    ['long_reads', '/user/workspaces'],
  ])('the pool %s has an idle connection after a read', async (pool, path) => {
    await rest(gateway, 'GET', path, { token });
    expect(await connections(pool)).toMatchObject({ max: 2, used: 0, pending: 0 });
    expect((await connections(pool)).idle).toBeGreaterThan(0);
  });

  test('credentials are counted by state', async () => {
    const pair = { accessToken: 'access-1', refreshToken: 'refresh-1' };
    await rest(gateway, 'PUT', '/editor/auth/subscription', { token, body: pair });
    const keys = `k2:${randomBytes(32).toString('base64')}`;
    await updateStatistics(gateway.database);
    const fresh = await startTestGateway({ ENCRYPTION_KEYS: keys }, gateway.database);
    const { sum } = await scrape(fresh);
    const inState = (state: string) => sum('gateway_editor_credentials', { state });
    // The credential was encrypted with a key that this gateway does not have.
    expect([inState('connected'), inState('needs_reauth'), inState('unreadable')]).toEqual([0, 0, 1]);
    await fresh.close();
  });

  test.each(['refuse', 'stall'] as const)(
    'while unreachable (%s), a scrape only lacks the number of credentials',
    async (state) => {
      const proxy = await startProxy(Number(new URL(gateway.database.url).port));
      const behind = new URL(gateway.database.url);
      behind.port = String(proxy.port);
      const settings = { DATABASE_URL: behind.href, DATABASE_TIMEOUT_MS: '200' };
      const proxied = await startTestGateway(settings, gateway.database);
      await proxy.setState(state);
      await eventually(async () => {
        const { sum } = await scrape(proxied);
        expect(sum('gateway_listener_up')).toBe(0);
        expect(sum('gateway_editor_credentials')).toBeUndefined();
        expect(sum('db_client_connection_max', { db_client_connection_pool_name: 'changes' })).toBe(10);
      });
      await proxied.close();
      await proxy.close();
    },
  );
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
  const start = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: start });
  try {
    expect(await readCount()).toBe('gateway_editor_credentials{state="connected"} 1');
    vi.setSystemTime(start + 59_999);
    expect(await readCount()).toBe('gateway_editor_credentials{state="connected"} 1');
    vi.setSystemTime(start + 60_000);
    expect(await readCount()).toBe('gateway_editor_credentials{state="connected"} 2');
    vi.setSystemTime(start + 120_000);
    expect(await readCount()).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

test('shows notifications by kind and status, and counts those that were published once', async () => {
  const published = { kind: 'task_failed' };
  const count = async (name: string, labels: Record<string, string>) =>
    (await scrape(gateway)).sum(name, labels) ?? 0;
  await updateStatistics(gateway.database);
  // Another gateway, because this one reads the statistics at most once a minute.
  const before = await startTestGateway({}, gateway.database);
  const active = { ...published, status: 'active' };
  const activeBefore = (await scrape(before)).sum('gateway_notifications', active) ?? 0;
  const publishedBefore = await count('gateway_notifications_published_total', published);
  for (let time = 0; time < 2; time += 1)
    await publish(gateway, 'carol', 'task_failed', { id: 'once', task: { id: 'once', projectId: 'p' } });
  await eventually(async () =>
    expect((await count('gateway_notifications_published_total', published)) - publishedBefore).toBe(1),
  );
  await updateStatistics(gateway.database);
  const after = await startTestGateway({ MAX_SUBSCRIBERS: '7' }, gateway.database);
  const { sum } = await scrape(after);
  expect((sum('gateway_notifications', active) ?? 0) - activeBefore).toBe(1);
  // Combinations without records are 0, so that the first is seen as an increase.
  expect(sum('gateway_deliveries', { channel: 'chat', state: 'failed' })).toBe(0);
  expect(sum('gateway_live_subscribers_max')).toBe(7);
  await before.close();
  await after.close();
});

test('counts cached tokens, and reports the age of a fetched key set', async () => {
  expect((await scrape(gateway)).sum('gateway_key_set_age_seconds')).toBeUndefined();
  const issuer = await startIssuer();
  const key = await issuer.rotate('first');
  const release = issuer.holdReplies();
  const remote = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url }, gateway.database);
  expect((await scrape(remote)).sum('gateway_key_set_age_seconds')).toBeUndefined();
  expect((await scrape(remote)).sum('gateway_cached_tokens')).toBe(0);
  release();

  const signed = await signToken({ sub: 'alice' }, { key, header: { alg: 'ES256', kid: 'first' } });
  for (let count = 0; count < 2; count += 1) {
    expect((await rest(remote, 'GET', '/user/workspaces', { token: signed })).status).toBe(200);
  }
  const { sum } = await scrape(remote);
  expect(sum('gateway_cached_tokens')).toBe(1);
  expect(sum('gateway_key_set_age_seconds')).toBeGreaterThanOrEqual(0);
  expect(sum('gateway_key_set_age_seconds')).toBeLessThan(60);
  await remote.close();
  await issuer.close();
});

test('counts rate limit points that were counted in memory because Redis is unreachable', async () => {
  const url = `redis://127.0.0.1:${await freePort()}`;
  const settings = { REDIS_URL: url, RATE_LIMIT_READS_PER_MINUTE: '100' };
  const withoutRedis = await startTestGateway(settings, gateway.database);
  for (let count = 0; count < 3; count += 1) await rest(withoutRedis, 'GET', '/user/workspaces', { token });
  const { sum } = await scrape(withoutRedis);
  expect(sum('gateway_rate_limit_fallbacks_total')).toBe(3);
  expect(sum('gateway_redis_up')).toBe(0);
  await withoutRedis.close();
});

describe('access to /metrics', () => {
  test('returns 404 on a public address without METRICS_TOKEN', async () => {
    const open = await startTestGateway({ HOST: '0.0.0.0' }, gateway.database);
    const here = { address: `http://127.0.0.1:${new URL(open.address).port}` };
    const { status, body } = await rest(here, 'GET', '/metrics');
    expect([status, body.code]).toEqual([404, 'not_found']);
    await open.close();
  });

  test('requires METRICS_TOKEN as a bearer token, if it is set', async () => {
    const secret = 'a-token-for-metrics';
    const guarded = await startTestGateway({ METRICS_TOKEN: secret, LOG_LEVEL: 'debug' }, gateway.database);
    for (const [sent, challenge] of [
      [undefined, 'Bearer'],
      [secret, 'Bearer'],
      [`Basic ${secret}`, 'Bearer'],
      [`Bearer ${secret}x`, 'Bearer error="invalid_token"'],
      [`Bearer ${secret.slice(1)}`, 'Bearer error="invalid_token"'],
      [`Bearer ${token}`, 'Bearer error="invalid_token"'],
    ]) {
      const headers: Record<string, string> = sent === undefined ? {} : { Authorization: sent };
      const reply = await rest(guarded, 'GET', '/metrics', { headers });
      expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, challenge]);
      expect(reply.body.code).toBe('unauthenticated');
    }
    const { samples } = await scrape(guarded, { Authorization: `Bearer ${secret}` });
    expect(samples.length).toBeGreaterThan(10);
    expect(guarded.logLines().join('\n')).not.toContain(secret);
    await guarded.close();
  });
});
