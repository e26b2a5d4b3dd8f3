import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { scrape } from './support/metrics.ts';
import { type GatewayProcess, startGatewayProcess } from './support/process.ts';
import { freePort, hasRedis, startRedis, type TestRedis } from './support/redis.ts';
import { AUDIENCE, ISSUER, jwks, member } from './support/tokens.ts';

const READS = 3;
const AWAY = 'Redis is away: rate limits are counted in this process alone';
const BACK = 'Redis is back: rate limits are shared again';
/** Far below what it takes when every request waits for a Redis that is silent. */
const BOUND_MS = 5000;
const REQUESTS = 50;

let database: TestDatabase;
let settings: Record<string, string>;
beforeAll(async () => {
  database = await createTestDatabase();
  settings = {
    DATABASE_URL: database.url,
    AUTH_JWKS: JSON.stringify(jwks),
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    RATE_LIMIT_READS_PER_MINUTE: String(READS),
    GRAPHIQL: 'false',
  };
});
afterAll(() => database.drop());

type Address = { address: string };

async function overRest(gateway: Address, user: string) {
  return (await rest(gateway, 'GET', '/user/workspaces', { token: await member(user) })).status;
}

async function overGraphQL(gateway: Address, user: string) {
  return (await graphql(gateway, '{ workspaces { totalCount } }', {}, { token: await member(user) })).status;
}

/** Asks as often as the limit allows and once more. */
async function exhaust(gateway: Address) {
  const user = randomUUID();
  const statuses = [];
  for (let count = 0; count <= READS; count += 1) statuses.push(await overRest(gateway, user));
  expect(statuses).toEqual([200, 200, 200, 429]);
}

const messages = (gateway: TestGateway) => gateway.logLines().map((line) => JSON.parse(line).msg);
const saidOf = (gateway: TestGateway) => messages(gateway).filter((text) => /^Redis/.test(text));

if (!hasRedis) process.stdout.write('redis.test.ts: no redis-server on the PATH, its tests are skipped.\n');

describe.skipIf(!hasRedis)(`with a Redis${hasRedis ? '' : ' (skipped: no redis-server on the PATH)'}`, () => {
  let redis: TestRedis;
  let here: TestGateway;
  let there: GatewayProcess;
  beforeAll(async () => {
    redis = await startRedis();
    here = await startTestGateway({ ...settings, REDIS_URL: redis.url }, database);
    there = await startGatewayProcess({ ...settings, REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await here.close();
    await there.stop();
    await redis.kill();
  });

  /** Waits until one is limited for what was asked of the other. */
  const shared = () =>
    vi.waitFor(
      async () => {
        const user = randomUUID();
        for (let count = 0; count < READS; count += 1) await overRest(here, user);
        expect(await overGraphQL(there, user)).toBe(429);
      },
      { timeout: 10_000 },
    );

  test('two processes share one limit, over REST on one and GraphQL on the other', async () => {
    await shared();
    const user = randomUUID();
    const statuses = [
      await overRest(here, user),
      await overGraphQL(there, user),
      await overGraphQL(here, user),
      await overRest(there, user),
      await overGraphQL(there, user),
      await overRest(here, user),
    ];
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
  });

  test('a Redis that is killed: served and counted in memory meanwhile, shared again when it is back', async () => {
    await shared();
    here.logLines().length = 0;
    await redis.kill();
    await exhaust(here);
    await exhaust(there);
    await eventually(() => expect(saidOf(here)).toEqual([AWAY]));
    const away = await scrape(here);
    expect(away.sum('gateway_redis_up')).toBe(0);
    expect(away.sum('gateway_rate_limit_fallbacks_total')).toBeGreaterThanOrEqual(READS);

    await redis.start();
    await shared();
    expect(saidOf(here)).toEqual([AWAY, BACK]);
    expect((await scrape(here)).sum('gateway_redis_up')).toBe(1);
  });

  test('a Redis that falls silent: only the first request waits for it, shared again when it speaks', async () => {
    await shared();
    here.logLines().length = 0;
    redis.suspend();
    try {
      const started = performance.now();
      for (let count = 0; count < REQUESTS; count += 1) expect(await overRest(here, randomUUID())).toBe(200);
      expect(performance.now() - started).toBeLessThan(BOUND_MS);
      await exhaust(here);
      expect(saidOf(here)).toEqual([AWAY]);
    } finally {
      redis.resume();
    }
    await shared();
    expect(saidOf(here)).toEqual([AWAY, BACK]);
  });

  test('a process ends when it is told to, whether Redis speaks or is silent', async () => {
    const environment = { ...settings, REDIS_URL: redis.url };
    expect(await overRest(there, randomUUID())).toBe(200);
    expect(await there.stop()).toMatchObject({ status: 0, stderr: '' });

    there = await startGatewayProcess(environment);
    expect(await overRest(there, randomUUID())).toBe(200);
    redis.suspend();
    try {
      const started = performance.now();
      expect(await there.stop()).toMatchObject({ status: 0, stderr: '' });
      expect(performance.now() - started).toBeLessThan(BOUND_MS);
    } finally {
      redis.resume();
    }
  });
});

test('a REDIS_URL at which nobody listens: the gateway starts, says so once without the password, serves, and ends', async () => {
  const url = `redis://user:pass-word@localhost:${await freePort()}`;
  const gateway = await startGatewayProcess({ ...settings, REDIS_URL: url });
  await gateway.waitForOutput(new RegExp(AWAY));
  await exhaust(gateway);
  const { status, stdout, stderr } = await gateway.stop();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const lines = stdout.split('\n').filter((line) => line.includes('Redis'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '').err.message).toContain('ECONNREFUSED');
  expect(stdout).not.toContain('pass-word');
});

test('a REDIS_URL at which something else answers: the gateway starts, says so once, and serves', async () => {
  const other = await startTestGateway({}, database);
  const url = `redis://${new URL(other.address).host}`;
  const gateway = await startTestGateway({ ...settings, REDIS_URL: url }, database);
  await eventually(() => expect(saidOf(gateway)).toEqual([AWAY]));
  await exhaust(gateway);
  expect(saidOf(gateway)).toEqual([AWAY]);
  await gateway.close();
  await other.close();
});
