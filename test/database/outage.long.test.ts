import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';

const TIMEOUT_MS = 300;
/** The time to wait for a connection and then for a reply, with a margin for a slow machine. */
const MAX_MS = 5000;

let owner: TestGateway;
let proxy: TestProxy;
let gateway: TestGateway;
const workspace = workspaceInput();

beforeAll(async () => {
  owner = await startTestGateway();
  proxy = await startProxy(Number(new URL(owner.database.url).port));
  gateway = await startBehind(proxy.port, { DATABASE_TIMEOUT_MS: String(TIMEOUT_MS) });
  await putWorkspaces(owner, 'alice', [workspace]);
});
afterEach(() => proxy.setState('open'));
afterAll(async () => {
  await gateway.close();
  await proxy.close();
  await owner.close();
});

/** Starts a gateway whose database is behind a proxy. */
function startBehind(port: number, settings: Record<string, string>): Promise<TestGateway> {
  const url = new URL(owner.database.url);
  url.port = String(port);
  return startTestGateway({ DATABASE_URL: url.href, ...settings }, owner.database);
}

const requestsOf = ({ as }: TestGateway) => {
  const alice = as('alice');
  return {
    read: () => alice.rest.get('/user/workspaces'),
    write: () => alice.rest.put('/user/notification-preferences', { preferences: [] }),
    query: () => alice.graphql('{ workspaces { nodes { id } } }'),
    mutate: () => alice.graphql('mutation { dismissNotification(input: { id: "n1" }) { __typename } }'),
  };
};

/** Waits until requests succeed: on a busy machine, the short timeout may pass before. */
const waitUntilServed = () =>
  eventually(async () => {
    const { read, write, query } = requestsOf(gateway);
    const [overRest, written, overGraphQL] = await Promise.all([read(), write(), query()]);
    expect([overRest.status, written.status, overGraphQL.status]).toEqual([200, 200, 200]);
    expect([overRest.body.workspaces[0].id, overGraphQL.data.workspaces.nodes[0].id]).toEqual([
      workspace.id,
      workspace.id,
    ]);
  });

function findLoggedError({ headers }: { headers: Headers }): string | undefined {
  const id = headers.get('x-request-id');
  return gateway.logLines().find((line) => line.includes(`"${id}"`) && line.includes('internal error'));
}

describe.each([
  ['closes every connection and refuses new ones', 'refuse', /ECONNREFUSED/],
  ['accepts connections but never replies', 'stall', /timeout|silent/],
] as const)('while the database %s', (_what, state, reason) => {
  test('both APIs return 500 within the timeout, only the log contains the reason, and requests succeed after its recovery', async () => {
    await waitUntilServed();
    await proxy.setState(state);
    const { read, write, query, mutate } = requestsOf(gateway);
    const started = performance.now();
    const replies = await Promise.all([read(), read(), write(), query(), query(), mutate()]);
    expect(performance.now() - started).toBeLessThan(MAX_MS);
    for (const reply of [...replies, await read(), await query()]) {
      expect(reply.status).toBe(500);
      expect(reply.text).toMatch(
        /^{"error":"Internal error.","code":"internal_error","errors":\[\]}$|"message":"Internal error.".*"extensions":{"code":"INTERNAL_ERROR"}/,
      );
      expect(reply.text).not.toMatch(reason);
      expect(findLoggedError(reply)).toBeDefined();
    }
    expect(findLoggedError(await read())).toMatch(reason);
    // More than the pool size, so that leaked connections would exhaust the pool.
    await Promise.all(Array.from({ length: 12 }, write));
    await Promise.all(Array.from({ length: 12 }, read));
    await proxy.setState('open');
    await waitUntilServed();
  });
});

test('while connections are silent, every read and change ends within 6 s of its arrival, also behind others', async () => {
  const other = await startBehind(proxy.port, { DATABASE_TIMEOUT_MS: '5000' });
  onTestFinished(() => other.close());
  const { id } = await publish(owner, 'alice');
  const alice = other.as('alice');
  const { read, write } = requestsOf(other);
  const requests = [
    read,
    write,
    () => alice.rest.get('/user/notifications'),
    () => alice.rest.get('/editor/auth'),
    () => alice.graphql('{ notificationCounts { total } }'),
    () => alice.graphql(`{ notification(id: "${id}") { __typename } }`),
    () => alice.rest.post(`/user/notifications/${id}/dismiss`),
  ];
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
});

test('while one connection is silent, only its own request fails', async () => {
  const editing = await startProxy(Number(new URL(owner.database.url).port), (sent) =>
    sent.toString('latin1').includes('"notification_preference"') ? 'hold' : sent,
  );
  const other = await startBehind(editing.port, { DATABASE_TIMEOUT_MS: '1000' });
  onTestFinished(async () => {
    await other.close();
    await editing.close();
  });
  const { read, write } = requestsOf(other);
  let hasEnded = false;
  const held = write().finally(() => {
    hasEnded = true;
  });
  const statuses: number[] = [];
  while (!hasEnded) statuses.push((await read()).status);
  for (let count = 0; count < 10; count += 1) statuses.push((await read()).status);
  expect((await held).status).toBe(500);
  expect(new Set(statuses)).toEqual(new Set([200]));
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
