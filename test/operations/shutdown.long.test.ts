import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { type Ended, type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';
import type { SseStream } from '../support/sse.ts';
import { member } from '../support/tokens.ts';

const MINUTES = '300000';

let database: TestDatabase;
let token: string;
beforeAll(async () => {
  database = await createTestDatabase();
  token = await member('alice');
});
afterAll(async () => {
  await database.drop();
});

const start = (settings: Record<string, string> = {}) =>
  startGatewayProcess({ ...settingsFor(database), DATABASE_TIMEOUT_MS: MINUTES, ...settings });

type Lock = { release(): Promise<void> };

/** Keeps the locks of a statement until released, or until the database is dropped after a failure. */
async function lock(statement: string): Promise<Lock> {
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => {});
  await client.connect();
  await client.query('begin');
  await client.query(statement);
  return { release: () => client.end() };
}

const waitForSessions = (count: number) =>
  eventually(async () => expect(await waitingSessions(database)).toBe(count));

async function readiness({ address }: GatewayProcess) {
  const response = await fetch(`${address}/readyz`);
  return { status: response.status, body: await response.json(), headers: response.headers };
}

const waitUntilStopping = (gateway: GatewayProcess) =>
  eventually(async () => expect((await readiness(gateway)).status).toBe(503));

describe('after SIGTERM', () => {
  let gateway: GatewayProcess;
  let ended: Promise<Ended>;
  let stream: SseStream;
  let finishing: Lock;
  let endless: Lock;
  let running: Promise<Awaited<ReturnType<typeof rest>>[]>;
  let rejected: Promise<void>;
  beforeAll(async () => {
    gateway = await start({ SHUTDOWN_DELAY_MS: '5000', SHUTDOWN_GRACE_MS: '3000' });
    stream = await subscribeToNotifications(gateway, 'bob');
    finishing = await lock('lock table workspace, editor_credential');
    endless = await lock(`insert into user_revision (user_id) values ('carol')`);
    const paths = ['/user/workspaces', '/editor/auth'];
    running = Promise.all(paths.map((path) => rest(gateway, 'GET', path, { token })));
    const change = rest(gateway, 'PUT', '/user/notification-preferences', {
      token: await member('carol'),
      body: { preferences: [{ email_enabled: true, push_enabled: true, chat_dm_enabled: true }] },
    });
    rejected = expect(change).rejects.toThrow('fetch failed');
    await waitForSessions(3);
    // Statements are not pipelined behind one that has taken 20 ms. Behind these, they would wait as long.
    const waitingSince = performance.now();
    await eventually(() => expect(performance.now() - waitingSince).toBeGreaterThan(20));
  });
  afterAll(async () => {
    await Promise.all([finishing.release(), endless.release()]);
    await gateway.stop('SIGKILL');
  });

  test('requests of a load balancer that checks /readyz all succeed, and live streams last as long as SHUTDOWN_DELAY_MS', async () => {
    let isReady = true;
    const statuses: number[] = [];
    const other = { token: await member('bob') };
    const senders = Array.from({ length: 4 }, async () => {
      while (isReady) statuses.push((await rest(gateway, 'GET', '/user/notifications', other)).status);
    });
    await eventually(() => expect(statuses.length).toBeGreaterThan(20));

    ended = gateway.stop();
    await waitUntilStopping(gateway);
    isReady = false;
    await publish(gateway, 'bob');
    expect((await nextEvent(stream)).type).toBe('CREATED');
    await Promise.all(senders);

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await stream.take()).errors[0].extensions.code).toBe('GOING_AWAY');
    expect(await stream.ended).toBe('complete');
  });

  test('finishes running requests, closes their connections, and accepts no new ones', async () => {
    await eventually(() => expect(fetch(`${gateway.address}/healthz`)).rejects.toThrow('fetch failed'));
    await finishing.release();

    const replies = await running;
    expect(replies.map(({ status, body }) => [status, body])).toEqual([
      [200, { workspaces: [] }],
      [200, { auth: { type: 'none' }, needs_reauth: false }],
    ]);
    for (const { headers } of replies) expect(headers.get('connection')).toBe('close');
  });

  test('aborts a request that exceeds SHUTDOWN_GRACE_MS, abandons its query, logs it, and exits', async () => {
    await rejected;

    const { status, stdout, stderr } = await ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        level: 40,
        cut: 1,
        graceMs: 3000,
        msg: 'grace period exceeded; remaining requests were cut off',
      }),
    );
  });
});

describe('during SHUTDOWN_DELAY_MS, with a log that has no reader', () => {
  let gateway: GatewayProcess;
  let ended: Promise<Ended>;
  let stoppedAt: number;
  beforeAll(async () => {
    gateway = await start({ SHUTDOWN_DELAY_MS: MINUTES });
    await gateway.waitForOutput(/^REST .*\n/m);
    expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(200);
    gateway.closeOutput();
    // As after Ctrl-C, which npm forwards. Of two equal signals, the kernel can keep one.
    gateway.stop('SIGINT');
    ended = gateway.stop('SIGTERM');
    stoppedAt = Date.now();
    await waitUntilStopping(gateway);
  });
  afterAll(() => gateway.stop('SIGKILL'));

  test('is not ready, serves requests, and closes connections, also if two signals came at once', async () => {
    const { body, headers } = await readiness(gateway);
    expect(body).toMatchObject({ status: 'not_ready', checks: { process: 'is stopping', database: 'ok' } });
    expect(headers.get('connection')).toBe('close');
    const reply = await rest(gateway, 'GET', '/user/workspaces', { token });
    expect([reply.status, reply.headers.get('connection')]).toEqual([200, 'close']);
    expect((await fetch(`${gateway.address}/healthz`)).status).toBe(200);
  });

  test('exits immediately on a signal more than a second later', async () => {
    while (Date.now() < stoppedAt + 2000) await readiness(gateway);
    await gateway.stop('SIGINT');
    expect(await ended).toMatchObject({
      status: 1,
      stderr: 'Exiting immediately: received a second signal.\n',
    });
  });
});

test('exits a few seconds after the grace even if something else does not stop', async () => {
  const { release } = await lock('lock table notification');
  // The removal of old notifications waits for the lock, and the shutdown waits for the removal.
  const gateway = await start({ SHUTDOWN_GRACE_MS: '0' });
  await waitForSessions(1);
  const ended = await gateway.stop();
  await release();
  expect(ended).toMatchObject({
    status: 1,
    stderr: 'Exiting immediately: shutdown took longer than 3000 ms.\n',
  });
});
