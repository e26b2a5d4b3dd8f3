import { Gauge, Registry } from 'prom-client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createLog } from '../../src/log.ts';
import { startAdminServer } from '../../src/server/monitoring.ts';
import { rest } from '../support/client.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { member } from '../support/tokens.ts';

const REQUESTS = 40;
const admin = { ADMIN_PORT: '0', REUSE_PORT: 'true' };

let first: TestGateway;
let second: TestGateway;
beforeAll(async () => {
  first = await startTestGateway(admin);
  second = await startTestGateway({ ...admin, PORT: new URL(first.address).port }, first.database);
});
afterAll(async () => {
  await second.close();
  await first.close();
});

const status = async (url: string, options?: RequestInit) => (await fetch(url, options)).status;

/** Returns the number of requests that one process has counted, read at its admin port. */
async function countRequests({ adminAddress }: TestGateway): Promise<number> {
  const route = { http_route: '/user/workspaces' };
  const scraped = await scrape({ address: adminAddress });
  return scraped.sum('http_server_request_duration_seconds_count', route) ?? 0;
}

test('processes that share a port report their own metrics at their own admin ports', async () => {
  expect(second.address).toBe(first.address);
  expect(second.adminAddress).not.toBe(first.adminAddress);
  const token = await member('alice');
  for (let number = 0; number < REQUESTS; number += 1) {
    await rest(first, 'GET', '/user/workspaces', { token, headers: { Connection: 'close' } });
  }

  await expect.poll(async () => (await countRequests(first)) + (await countRequests(second))).toBe(REQUESTS);
  const counts = [await countRequests(first), await countRequests(second)];
  expect(Math.min(...counts)).toBeGreaterThan(0);
  for (let scrapes = 0; scrapes < 5; scrapes += 1) {
    expect([await countRequests(first), await countRequests(second)]).toEqual(counts);
  }
});

test('serves /readyz and /healthz on both ports, and /metrics on the admin port only', async () => {
  for (const path of ['/readyz', '/healthz']) {
    expect(await status(`${first.address}${path}`)).toBe(200);
    expect(await status(`${first.adminAddress}${path}`)).toBe(200);
  }
  expect(await status(`${first.address}/metrics`)).toBe(404);
  expect(await status(`${first.adminAddress}/metrics`)).toBe(200);
});

test('serves nothing else on the admin port', async () => {
  for (const path of ['/', '/graphql', '/user/workspaces', '/docs', '/metrics/', '/../metrics']) {
    expect(await status(`${first.adminAddress}${path}`), path).toBe(path === '/../metrics' ? 200 : 404);
  }
  expect(await status(`${first.adminAddress}/metrics`, { method: 'POST' })).toBe(404);
});

test('requires METRICS_TOKEN on the admin port', async () => {
  const token = 'a-token-for-metrics';
  const guarded = await startTestGateway({ ADMIN_PORT: '0', METRICS_TOKEN: token }, first.database);
  const metrics = `${guarded.adminAddress}/metrics`;
  const refused = await fetch(metrics);
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringMatching(/^Bearer/),
  ]);
  expect(await status(metrics, { headers: { Authorization: `Bearer ${token}` } })).toBe(200);
  expect(await status(`${guarded.adminAddress}/readyz`)).toBe(200);
  await guarded.close();
});

test('does not serve metrics on a public admin address without METRICS_TOKEN', async () => {
  const everywhere = await startTestGateway({ ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '0' }, first.database);
  const { port } = new URL(everywhere.adminAddress);
  expect(await status(`http://127.0.0.1:${port}/metrics`)).toBe(404);
  expect(await status(`http://127.0.0.1:${port}/readyz`)).toBe(200);
  await everywhere.close();
});

test('replies 500 and logs the cause if the metrics cannot be collected', async () => {
  const registry = new Registry();
  new Gauge({
    name: 'broken',
    help: 'A metric that cannot be collected.',
    registers: [registry],
    collect: () => Promise.reject(new Error('not collected')),
  });
  const database = await openDatabase({ url: first.database.url, poolSize: 1, timeoutMs: 1000 });
  const lines: string[] = [];
  const server = await startAdminServer(
    { admin: { host: '127.0.0.1', port: 0 }, metrics: { kind: 'open' } },
    { database, isStopping: () => false, live: { problem: undefined }, keySet: {} },
    registry,
    createLog('info', { write: (line) => void lines.push(line) }),
  );
  try {
    const reply = await fetch(`${server?.address}/metrics`);
    expect([reply.status, await reply.text()]).toEqual([500, 'Internal error.\n']);
    expect(lines).toEqual([expect.stringMatching(/"message":"not collected".*"msg":"internal error"/)]);
  } finally {
    server?.close();
    await database.close();
  }
});

test('fails to start if the admin port is in use, naming the port and ADMIN_PORT', async () => {
  const { port } = new URL(first.adminAddress);
  await expect(startTestGateway({ ADMIN_PORT: port }, first.database)).rejects.toThrow(
    `Port ${port} of 127.0.0.1 is in use. Stop the process that uses it, or set ADMIN_PORT to another port`,
  );
});

test.each([
  ['only the first', { REUSE_PORT: 'true' }, {}],
  ['only the second', {}, { REUSE_PORT: 'true' }],
  ['neither', {}, {}],
])('fails to start on a port in use if %s sets REUSE_PORT', async (_who, one, other) => {
  const running = await startTestGateway(one, first.database);
  onTestFinished(() => running.close());
  const { port } = new URL(running.address);
  await expect(startTestGateway({ ...other, PORT: port }, first.database)).rejects.toThrow(
    `Port ${port} of 127.0.0.1 is in use. Stop the process that uses it, or set PORT to another port (0 selects a free one).`,
  );
});

test('closes the admin port together with the gateway', async () => {
  const short = await startTestGateway({ ADMIN_PORT: '0' }, first.database);
  await short.close();
  await expect(fetch(`${short.adminAddress}/healthz`)).rejects.toThrow();
});
