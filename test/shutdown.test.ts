import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from './support/client.ts';
import { createTestDatabase, type TestDatabase, waitingSessions } from './support/database.ts';
import { eventually } from './support/eventually.ts';
import { settingsFor } from './support/gateway.ts';
import { nextEvent, subscribeToNotifications } from './support/inbox.ts';
import { type GatewayProcess, startGatewayProcess } from './support/process.ts';
import { publish } from './support/records.ts';
import { member } from './support/tokens.ts';

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

/** Blocks reads of the tables until released. */
async function lock(...tables: string[]): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('begin');
  await client.query(`lock table ${tables.join(', ')}`);
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

test('finishes running requests, closes their connections, and accepts no new ones', async () => {
  const gateway = await start();
  const { release } = await lock('workspace', 'editor_credential');
  const running = ['/user/workspaces', '/editor/auth'].map((path) => rest(gateway, 'GET', path, { token }));
  await waitForSessions(2);

  const ended = gateway.stop();
  await eventually(() => expect(isRefused(gateway)).resolves.toBe(true));
  await release();

  const replies = await Promise.all(running);
  expect(replies.map(({ status, body }) => [status, body])).toEqual([
    [200, { workspaces: [] }],
    [200, { auth: { type: 'none' }, needs_reauth: false }],
  ]);
  for (const { headers } of replies) expect(headers.get('connection')).toBe('close');
  expect(await ended).toMatchObject({ status: 0, stderr: '' });
});

async function isRefused({ address }: GatewayProcess): Promise<boolean> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  const [event] = await Promise.race([
    once(socket, 'connect').then(() => ['connect']),
    once(socket, 'error'),
  ]).catch((error: unknown) => [error]);
  socket.destroy();
  return event !== 'connect';
}

test('requests of a load balancer that checks /readyz all succeed, and live streams last as long as SHUTDOWN_DELAY_MS', async () => {
  const gateway = await start({ SHUTDOWN_DELAY_MS: '1000' });
  const stream = await subscribeToNotifications(gateway, 'alice');
  let isReady = true;
  const statuses: number[] = [];
  const senders = Array.from({ length: 4 }, async () => {
    while (isReady) statuses.push((await rest(gateway, 'GET', '/user/workspaces', { token })).status);
  });
  await eventually(() => expect(statuses.length).toBeGreaterThan(20));

  const ended = gateway.stop();
  await waitUntilStopping(gateway);
  isReady = false;
  await publish(gateway, 'alice');
  expect((await nextEvent(stream)).type).toBe('CREATED');
  await Promise.all(senders);

  expect(new Set(statuses)).toEqual(new Set([200]));
  expect((await stream.take()).errors[0].extensions.code).toBe('GOING_AWAY');
  expect(await stream.ended).toBe('complete');
  expect(await ended).toMatchObject({ status: 0, stderr: '' });
});

test('during SHUTDOWN_DELAY_MS it serves requests and closes connections, and a second signal ends it immediately', async () => {
  const gateway = await start({ SHUTDOWN_DELAY_MS: MINUTES });
  const ended = gateway.stop();
  await waitUntilStopping(gateway);

  const { body, headers } = await readiness(gateway);
  expect(body).toMatchObject({ status: 'not_ready', checks: { process: 'is stopping', database: 'ok' } });
  expect(headers.get('connection')).toBe('close');
  const reply = await rest(gateway, 'GET', '/user/workspaces', { token });
  expect([reply.status, reply.headers.get('connection')]).toEqual([200, 'close']);
  expect((await fetch(`${gateway.address}/healthz`)).status).toBe(200);

  await gateway.stop('SIGINT');
  expect(await ended).toMatchObject({
    status: 1,
    stderr: 'Exiting immediately: received a second signal.\n',
  });
});

test('aborts a request that exceeds SHUTDOWN_GRACE_MS, cancels its query and logs it', async () => {
  const gateway = await start({ SHUTDOWN_GRACE_MS: '300' });
  const { release } = await lock('workspace');
  const rejected = expect(rest(gateway, 'GET', '/user/workspaces', { token })).rejects.toThrow(
    'fetch failed',
  );
  await waitForSessions(1);

  const { status, stdout, stderr } = await gateway.stop();
  await rejected;
  await release();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({
      level: 40,
      cut: 1,
      graceMs: 300,
      msg: 'grace period exceeded; remaining requests were cut off',
    }),
  );
});

test('exits a few seconds after the grace even if something else does not stop', async () => {
  const { release } = await lock('notification');
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

test('exits on SIGTERM even if the log has no reader', async () => {
  const gateway = await start({ SHUTDOWN_DELAY_MS: MINUTES });
  await gateway.waitForOutput(/^REST .*\n/m);
  expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(200);
  gateway.closeOutput();

  void gateway.stop('SIGTERM');
  expect(await gateway.stop('SIGINT')).toMatchObject({ status: 1 });
});
