import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const TIMEOUT_MS = 300;
/** The time to wait for a connection and then for a reply, with a margin for a slow machine. */
const MAX_MS = 5000;

let owner: TestGateway;
let proxy: TestProxy;
let gateway: TestGateway;
let proxiedUrl: string;
let token: string;
let workspaceId: unknown;

beforeAll(async () => {
  owner = await startTestGateway();
  const behindProxy = new URL(owner.database.url);
  proxy = await startProxy(Number(behindProxy.port));
  behindProxy.port = String(proxy.port);
  proxiedUrl = behindProxy.href;
  gateway = await startTestGateway(
    { DATABASE_URL: proxiedUrl, DATABASE_TIMEOUT_MS: String(TIMEOUT_MS) },
    owner.database,
  );
  token = await member('alice');
  const workspace = workspaceInput();
  workspaceId = workspace.id;
  await putWorkspaces(owner, 'alice', [workspace]);
});
afterEach(() => proxy.setState('open'));
afterAll(async () => {
  await gateway.close();
  await proxy.close();
  await owner.close();
});

const list = '{ workspaces { nodes { id } } }';
const read = () => rest(gateway, 'GET', '/user/workspaces', { token });
const write = () =>
  rest(gateway, 'PUT', '/user/notification-preferences', { token, body: { preferences: [] } });
const ask = (query = list) => graphql(gateway, query, {}, { token });

/** Waits until requests succeed: on a busy machine, the short timeout may pass before. */
const waitUntilServed = () => eventually(expectServed);

async function expectServed(): Promise<void> {
  const [overRest, written, overGraphQL] = await Promise.all([read(), write(), ask()]);
  expect([overRest.status, written.status, overGraphQL.status]).toEqual([200, 200, 200]);
  expect(overRest.body.workspaces[0].id).toBe(workspaceId);
  expect(overGraphQL.data.workspaces.nodes[0].id).toBe(workspaceId);
}

function findLoggedError(requestId: string | null) {
  const lines = gateway.logLines().map((line) => JSON.parse(line));
  return lines.find((line) => line.requestId === requestId && line.msg === 'internal error')?.err;
}

describe.each([
  ['closes every connection and refuses new ones', 'refuse', /ECONNREFUSED/],
  ['accepts connections but never replies', 'stall', /timeout|silent/],
] as const)('while the database %s', (_what, state, reason) => {
  test('the REST API returns 500 within the timeout, and only the log contains the reason', async () => {
    await waitUntilServed();
    await proxy.setState(state);
    const started = performance.now();
    const replies = await Promise.all([read(), read(), write()]);
    expect(performance.now() - started).toBeLessThan(MAX_MS);
    for (const { status, text, headers } of [...replies, await read()]) {
      expect({ status, text }).toEqual({
        status: 500,
        text: '{"error":"Internal error.","code":"internal_error","errors":[]}',
      });
      expect(findLoggedError(headers.get('x-request-id'))).toBeDefined();
    }
    const { headers } = await read();
    expect(JSON.stringify(findLoggedError(headers.get('x-request-id')))).toMatch(reason);
  });

  test('the GraphQL API returns 500 within the timeout, and only the log contains the reason', async () => {
    await waitUntilServed();
    await proxy.setState(state);
    const started = performance.now();
    const replies = await Promise.all([ask(), ask(), ask(`mutation { ${dismiss} }`)]);
    expect(performance.now() - started).toBeLessThan(MAX_MS);
    for (const { status, data, errors, headers } of [...replies, await ask()]) {
      expect({ status, data: data ?? null }).toEqual({ status: 500, data: null });
      expect(errors).toEqual([
        expect.objectContaining({ message: 'Internal error.', extensions: { code: 'INTERNAL_ERROR' } }),
      ]);
      expect(findLoggedError(headers.get('x-request-id'))).toBeDefined();
    }
  });

  test('requests fail, and succeed again after its recovery without a restart', async () => {
    await waitUntilServed();
    await proxy.setState(state);
    // More than the pool size, so that leaked connections would exhaust the pool.
    await Promise.all(Array.from({ length: 12 }, write));
    await Promise.all(Array.from({ length: 12 }, read));
    await proxy.setState('open');
    await waitUntilServed();
  });
});

test('while connections are silent, every read and change ends within 6 s of its arrival, also behind others', async () => {
  const settings = { DATABASE_URL: proxiedUrl, DATABASE_TIMEOUT_MS: '5000' };
  const other = await startTestGateway(settings, owner.database);
  const { id } = await publish(owner, 'alice');
  const requests = [
    () => rest(other, 'GET', '/user/workspaces', { token }),
    () => rest(other, 'GET', '/user/notifications', { token }),
    () => rest(other, 'GET', '/editor/auth', { token }),
    () => graphql(other, '{ notificationCounts { total } }', {}, { token }),
    () => graphql(other, `{ notification(id: "${id}") { __typename } }`, {}, { token }),
    () => rest(other, 'PUT', '/user/notification-preferences', { token, body: { preferences: [] } }),
    () => rest(other, 'POST', `/user/notifications/${id}/dismiss`, { token }),
  ];
  try {
    // Opens connections, of which some are idle when they fall silent.
    for (const { status } of await Promise.all(requests.map((send) => send()))) expect(status).toBe(200);
    await proxy.setState('stall');
    // More reads than one caller may run at once, and longer than one timeout.
    const ends: Promise<{ status: number; ms: number }>[] = [];
    const silentAt = performance.now();
    while (performance.now() - silentAt < 7000) {
      for (const send of requests) {
        const sentAt = performance.now();
        ends.push(send().then(({ status }) => ({ status, ms: performance.now() - sentAt })));
      }
      await pause(500);
    }
    const replies = await Promise.all(ends);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([500]));
    expect(Math.max(...replies.map(({ ms }) => ms))).toBeLessThan(6000);
    await proxy.setState('open');
    await eventually(async () => {
      for (const send of requests) expect((await send()).status).toBe(200);
    });
  } finally {
    await other.close();
  }
});

test('while one connection is silent, only its own request fails', async () => {
  const editing = await startProxy(Number(new URL(owner.database.url).port), (sent) =>
    sent.toString('latin1').includes('"notification_preference"') ? 'hold' : sent,
  );
  const url = new URL(owner.database.url);
  url.port = String(editing.port);
  const other = await startTestGateway(
    { DATABASE_URL: url.href, DATABASE_TIMEOUT_MS: '1000' },
    owner.database,
  );
  try {
    let hasEnded = false;
    const held = rest(other, 'PUT', '/user/notification-preferences', { token, body: { preferences: [] } });
    const ended = held.finally(() => {
      hasEnded = true;
    });
    const statuses: number[] = [];
    while (!hasEnded) statuses.push((await rest(other, 'GET', '/user/workspaces', { token })).status);
    for (let count = 0; count < 10; count += 1)
      statuses.push((await rest(other, 'GET', '/user/workspaces', { token })).status);
    expect((await ended).status).toBe(500);
    expect(new Set(statuses)).toEqual(new Set([200]));
  } finally {
    await other.close();
    await editing.close();
  }
});

test('replaces sessions that PostgreSQL terminates', async () => {
  await waitUntilServed();
  const ended = await owner.database.sql(
    `select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
  expect(ended.length).toBeGreaterThan(0);
  await waitUntilServed();
});

test('interrupted transactions do not leak connections of the pool', async () => {
  const settings = { DATABASE_URL: proxiedUrl, DATABASE_POOL_SIZE: '2' };
  const small = await startTestGateway(settings, owner.database);
  const change = () =>
    rest(small, 'PUT', '/user/notification-preferences', { token, body: { preferences: [] } });
  const locker = new pg.Client({ connectionString: owner.database.url });
  await locker.connect();
  try {
    await locker.query('begin');
    await locker.query('lock table notification_preference');
    const cut = [change(), change()];
    await eventually(async () => expect(await waitingSessions(owner.database)).toBe(2));
    await proxy.setState('refuse');
    expect((await Promise.all(cut)).map(({ status }) => status)).toEqual([500, 500]);
    await locker.query('rollback');
    await proxy.setState('open');
    expect((await change()).status).toBe(200);
  } finally {
    await locker.end();
    await small.close();
  }
});

const dismiss = 'dismissNotification(input: { id: "n1" }) { __typename }';
