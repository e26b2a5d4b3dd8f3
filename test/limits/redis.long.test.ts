import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createAs } from '../support/as.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { captureOutput, type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { freePort } from '../support/servers.ts';

const READS = 3;
const UNAVAILABLE = 'Redis is unreachable; rate limits are counted per process';
const AVAILABLE = 'Redis is connected again; rate limits are shared';
/** Far less than if every request waited for a Redis that does not reply. */
const MAX_MS = 5000;
const REQUESTS = 50;

/** A gateway without Redis, whose database the others share. */
const other = useGateway();
const settings = { RATE_LIMIT_READS_PER_MINUTE: String(READS) };
const startProcess = (redisUrl: string) =>
  startGatewayProcess({ ...settingsFor(other.database), ...settings, REDIS_URL: redisUrl });

type Address = { address: string };

const requestOverRest = async (gateway: Address, user: string) =>
  (await createAs(gateway)(user).rest.get('/user/workspaces')).status;

const requestOverGraphQL = async (gateway: Address, user: string) =>
  (await createAs(gateway)(user).graphql('{ workspaces { totalCount } }')).status;

/** Sends one request more than the limit allows. */
async function expectLimit(gateway: Address) {
  const user = randomUUID();
  const statuses = [];
  for (let count = 0; count <= READS; count += 1) statuses.push(await requestOverRest(gateway, user));
  expect(statuses).toEqual([200, 200, 200, 429]);
}

const messages = (gateway: TestGateway) => gateway.logLines().map((line) => JSON.parse(line).msg);
const readRedisMessages = (gateway: TestGateway) => messages(gateway).filter((text) => /^Redis/.test(text));

/** Whether `redis-server` is installed. */
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Starts a real Redis without persistence, in its own process. */
async function startRedis() {
  const port = await freePort();
  const run = async () => {
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()];
    const child = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'pipe'] });
    const started = captureOutput(child, 'redis-server');
    await started.waitForOutput(/Ready to accept connections/);
    return { ...started, send: (signal: NodeJS.Signals) => child.kill(signal) };
  };
  let server = await run();
  return {
    url: `redis://127.0.0.1:${port}`,
    /** Kills the server, like a crash. */
    kill: () => server.stop('SIGKILL'),
    /** Starts the server again at the same address. */
    async start() {
      server = await run();
    },
    /** Stops replying until {@link resume}; connections stay open. */
    suspend: () => server.send('SIGSTOP'),
    resume: () => server.send('SIGCONT'),
  };
}

const skipped = hasRedis ? '' : ' (skipped: redis-server was not found on the PATH)';

describe.skipIf(!hasRedis)(`with Redis${skipped}`, () => {
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let first: TestGateway;
  let second: GatewayProcess;
  beforeAll(async () => {
    redis = await startRedis();
    first = await startTestGateway({ ...settings, REDIS_URL: redis.url }, other.database);
    second = await startProcess(redis.url);
  });
  afterAll(async () => {
    await first.close();
    await second.stop();
    await redis.kill();
  });

  /** Waits until requests to one gateway count towards the limit of the other. */
  const waitUntilShared = () =>
    vi.waitFor(
      async () => {
        const user = randomUUID();
        for (let count = 0; count < READS; count += 1) await requestOverRest(first, user);
        expect(await requestOverGraphQL(second, user)).toBe(429);
      },
      { timeout: 10_000 },
    );

  test('two processes share one limit over REST and GraphQL', async () => {
    await waitUntilShared();
    const user = randomUUID();
    const rest = (at: Address) => requestOverRest(at, user);
    const graphql = (at: Address) => requestOverGraphQL(at, user);
    expect([await rest(first), await graphql(second), await graphql(first)]).toEqual([200, 200, 200]);
    expect([await rest(second), await graphql(second), await rest(first)]).toEqual([429, 429, 429]);
  });

  test('while Redis is down, limits are counted in memory, and shared again after its restart', async () => {
    await waitUntilShared();
    first.logLines().length = 0;
    await redis.kill();
    await expectLimit(first);
    await expectLimit(second);
    await eventually(() => expect(readRedisMessages(first)).toEqual([UNAVAILABLE]));
    const scraped = await scrape(first);
    expect(scraped.sum('gateway_redis_up')).toBe(0);
    expect(scraped.sum('gateway_rate_limit_fallbacks_total')).toBeGreaterThanOrEqual(READS);

    await redis.start();
    await waitUntilShared();
    expect(readRedisMessages(first)).toEqual([UNAVAILABLE, AVAILABLE]);
    expect((await scrape(first)).sum('gateway_redis_up')).toBe(1);
  });

  test('if Redis stops replying, only the first request waits for it, and limits are shared again on recovery', async () => {
    await waitUntilShared();
    first.logLines().length = 0;
    redis.suspend();
    try {
      const started = performance.now();
      for (let count = 0; count < REQUESTS; count += 1)
        expect(await requestOverRest(first, randomUUID())).toBe(200);
      expect(performance.now() - started).toBeLessThan(MAX_MS);
      await expectLimit(first);
      expect(readRedisMessages(first)).toEqual([UNAVAILABLE]);
    } finally {
      redis.resume();
    }
    await waitUntilShared();
    expect(readRedisMessages(first)).toEqual([UNAVAILABLE, AVAILABLE]);
  });

  test('a process exits on SIGTERM, whether or not Redis replies', async () => {
    expect(await requestOverRest(second, randomUUID())).toBe(200);
    expect(await second.stop()).toMatchObject({ status: 0, stderr: '' });

    second = await startProcess(redis.url);
    expect(await requestOverRest(second, randomUUID())).toBe(200);
    redis.suspend();
    try {
      const started = performance.now();
      expect(await second.stop()).toMatchObject({ status: 0, stderr: '' });
      expect(performance.now() - started).toBeLessThan(MAX_MS);
    } finally {
      redis.resume();
    }
  });
});

test('with an unreachable REDIS_URL the gateway starts, logs it once without the password, serves and stops', async () => {
  const url = `redis://user:pass-word@localhost:${await freePort()}`;
  const gateway = await startProcess(url);
  await gateway.waitForOutput(new RegExp(UNAVAILABLE));
  await expectLimit(gateway);
  const { status, stdout, stderr } = await gateway.stop();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const lines = stdout.split('\n').filter((line) => line.includes('Redis'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '').err.message).toContain('ECONNREFUSED');
  expect(stdout).not.toContain('pass-word');
});

test('with a REDIS_URL of another service the gateway starts, logs it once and serves', async () => {
  const url = `redis://${new URL(other.address).host}`;
  const gateway = await startTestGateway({ ...settings, REDIS_URL: url }, other.database);
  await eventually(() => expect(readRedisMessages(gateway)).toEqual([UNAVAILABLE]));
  await expectLimit(gateway);
  expect(readRedisMessages(gateway)).toEqual([UNAVAILABLE]);
  await gateway.close();
});
