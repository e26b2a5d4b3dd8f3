import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { scrape } from './support/metrics.ts';
import { member } from './support/tokens.ts';

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

/** The requests that one process has counted, read at its own port. */
async function counted({ adminAddress }: TestGateway): Promise<number> {
  const route = { http_route: '/user/workspaces' };
  const scraped = await scrape({ address: adminAddress });
  return scraped.sum('http_server_request_duration_seconds_count', route) ?? 0;
}

test('with a shared port each process reports its own metrics at its admin port', async () => {
  expect(second.address).toBe(first.address);
  expect(second.adminAddress).not.toBe(first.adminAddress);
  const token = await member('alice');
  for (let number = 0; number < REQUESTS; number += 1) {
    await rest(first, 'GET', '/user/workspaces', { token, headers: { Connection: 'close' } });
  }

  await expect.poll(async () => (await counted(first)) + (await counted(second))).toBe(REQUESTS);
  const counts = [await counted(first), await counted(second)];
  expect(Math.min(...counts)).toBeGreaterThan(0);
  for (let scrapes = 0; scrapes < 5; scrapes += 1) {
    expect([await counted(first), await counted(second)]).toEqual(counts);
  }
});

test('/readyz and /healthz are served on both ports, /metrics on the admin port alone', async () => {
  for (const path of ['/readyz', '/healthz']) {
    expect(await status(`${first.address}${path}`)).toBe(200);
    expect(await status(`${first.adminAddress}${path}`)).toBe(200);
  }
  expect(await status(`${first.address}/metrics`)).toBe(404);
  expect(await status(`${first.adminAddress}/metrics`)).toBe(200);
});

test('nothing else is served on the admin port', async () => {
  for (const path of ['/', '/graphql', '/user/workspaces', '/docs', '/metrics/', '/../metrics']) {
    expect(await status(`${first.adminAddress}${path}`), path).toBe(path === '/../metrics' ? 200 : 404);
  }
  expect(await status(`${first.adminAddress}/metrics`, { method: 'POST' })).toBe(404);
});

test('a METRICS_TOKEN is required on the admin port too', async () => {
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

test('metrics that other machines could read are not served without a token', async () => {
  const everywhere = await startTestGateway({ ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '0' }, first.database);
  const { port } = new URL(everywhere.adminAddress);
  expect(await status(`http://127.0.0.1:${port}/metrics`)).toBe(404);
  expect(await status(`http://127.0.0.1:${port}/readyz`)).toBe(200);
  await everywhere.close();
});

test('an admin port that is taken stops the start with its name', async () => {
  const { port } = new URL(first.adminAddress);
  await expect(startTestGateway({ ADMIN_PORT: port }, first.database)).rejects.toThrow(
    `Port ${port} of 127.0.0.1 is in use. Stop the process that uses it, or set ADMIN_PORT to another port`,
  );
});

test('the admin port is closed with the gateway', async () => {
  const short = await startTestGateway({ ADMIN_PORT: '0' }, first.database);
  await short.close();
  await expect(fetch(`${short.adminAddress}/healthz`)).rejects.toThrow();
});
