import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor } from '../support/gateway.ts';
import { subscribeToNotifications } from '../support/inbox.ts';
import { type Process, runProcess, startProcess } from '../support/process.ts';
import { payloads } from '../support/records.ts';
import { freePort } from '../support/redis.ts';
import { readRepositoryFile } from '../support/settings-file.ts';
import type { SseStream } from '../support/sse.ts';
import { member, platform } from '../support/tokens.ts';
import { hasProxies, proxyPrograms, type RunningProxy, startProxy } from './proxies.ts';

const ROLLS = 5;
/** Sent through each proxy during the rolls. */
const REQUESTS = 10_000;
const SENDERS = 4;
/** The interval of a sender's requests, so that the load lasts for all rolls without occupying the machine. */
const INTERVAL_MS = 40;

const repository = fileURLToPath(new URL('../..', import.meta.url));
const unit = await readRepositoryFile('ops/workspace-account-gateway@.service');
/** The settings of the unit that determine how a restart proceeds. */
const delays = Object.fromEntries(
  [...unit.matchAll(/^Environment=((?:SHUTDOWN|READY)_DELAY_MS)=(.+)$/gm)].map(([, name, value]) => [
    name,
    value,
  ]),
);

describe.skipIf(!hasProxies)('rolling restarts behind proxies (need root, nginx, HAProxy and Caddy)', () => {
  let folder: string;
  let database: TestDatabase;
  let gateways: RestartableGateway[];
  let observed: { proxy: RunningProxy; load: Load; subscriber: Subscriber }[];

  beforeAll(async () => {
    folder = await makeFolder();
    database = await createTestDatabase();
    const settings = { ...settingsFor(database), ...delays };
    const ports = [await freePort(), await freePort()];
    gateways = ports.map((port) => createGateway({ ...settings, PORT: `${port}` }));
    await Promise.all(gateways.map(({ start }) => start()));
    const proxies = await Promise.all(proxyPrograms.map((program) => startProxy(program, folder, ports)));
    observed = proxies.map((proxy) => ({
      proxy,
      load: startLoad(proxy),
      subscriber: startSubscriber(proxy),
    }));

    for (let roll = 0; roll < ROLLS; roll += 1) for (const { restart } of gateways) await restart();
    await Promise.all(observed.map(({ load }) => load.stop()));
  }, 10 * 60_000);
  afterAll(async () => {
    for (const { subscriber, proxy } of observed ?? []) {
      await subscriber.stop();
      await proxy.stop();
    }
    await Promise.all((gateways ?? []).map(({ kill }) => kill()));
    await database?.drop();
    await removeFolder(folder);
  });

  const find = (name: string) => observed.find(({ proxy }) => proxy.name === name) ?? expect.unreachable();

  test.each(proxyPrograms)('$program loses no request', async ({ program }) => {
    const { load } = find(program);
    expect(load.lost).toEqual([]);
    expect(load.replies()).toBeGreaterThanOrEqual(REQUESTS);
    const [stored] = await database.sql(
      'select count(*)::int as count from notification where user_id like $1',
      [`${program}-%`],
    );
    expect(stored).toEqual({ count: load.published() });
  });

  test.each(proxyPrograms)(
    '$program passes on the end of live streams, which are resumed without a gap',
    async ({ program }) => {
      const { subscriber } = find(program);
      expect(subscriber.ends.length).toBeGreaterThanOrEqual(ROLLS);
      expect(new Set(subscriber.ends)).toEqual(new Set(['GOING_AWAY complete']));
      const rows = await database.sql('select id, status from notification where user_id = $1', [
        subscriber.user,
      ]);
      const stored = new Map(rows.map(({ id, status }) => [id, status]));
      await eventually(() => expect(subscriber.statuses).toEqual(stored));
    },
  );
});

describe.skipIf(!hasProxies)('the configurations of proxies (need root, nginx, HAProxy and Caddy)', () => {
  test.each(proxyPrograms)('$program accepts $file', ({ program, file, check }) => {
    const { status, stderr } = spawnSync(program, check(`${repository}${file}`), { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  });
});

type RestartableGateway = ReturnType<typeof createGateway>;

/** Restarts a gateway as systemd does, which runs await-ready after the start. */
function createGateway(settings: Record<string, string>) {
  let process: Process;
  async function start(): Promise<void> {
    process = startProcess('src/main.ts', settings);
    const { status, stderr } = await runProcess('src/commands/await-ready.ts', settings, [
      '--pid',
      `${process.pid}`,
    ]);
    expect(status, stderr).toBe(0);
  }
  return {
    start,
    async restart(): Promise<void> {
      expect(await process.stop()).toMatchObject({ status: 0, stderr: '' });
      await start();
    },
    kill: () => process.stop('SIGKILL'),
  };
}

type Load = ReturnType<typeof startLoad>;

/** Sends requests through a proxy on kept-alive connections, until stopped and {@link REQUESTS} were sent. */
function startLoad({ name, address }: RunningProxy) {
  const lost: string[] = [];
  let replies = 0;
  let published = 0;
  let isStopping = false;

  async function send(method: string, path: string, token: string, body?: object): Promise<void> {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      const response = await fetch(`${address}${path}`, { method, headers, ...content });
      const text = await response.text();
      if (response.ok && !text.includes('"errors"')) replies += 1;
      else lost.push(`${method} ${path}: ${response.status} ${text}`);
    } catch (error) {
      lost.push(`${method} ${path}: ${error instanceof Error ? error.cause : error}`);
    }
  }

  async function run(user: string): Promise<void> {
    const token = await member(user);
    const service = await platform();
    for (let sent = 0; !isStopping || replies < REQUESTS; sent += 1) {
      const ended = pause(INTERVAL_MS);
      const step = sent % 5;
      const id = `n-${sent - step}`;
      if (step === 0) {
        await send('POST', '/graphql', service, publication(user, id));
        published += 1;
      } else if (step === 1) await send('GET', '/user/notifications', token);
      else if (step === 2)
        await send('POST', '/graphql', token, { query: '{ notificationCounts { total } }' });
      else if (step === 3) await send('GET', '/user/workspaces', token);
      else await send('POST', `/user/notifications/${id}/dismiss`, token);
      await ended;
    }
  }

  const running = Promise.all(Array.from({ length: SENDERS }, (_, sender) => run(`${name}-${sender}`)));
  return {
    lost,
    replies: () => replies,
    published: () => published,
    async stop(): Promise<void> {
      isStopping = true;
      await running;
    },
  };
}

function publication(userId: string, id: string) {
  const query =
    'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }';
  const task = { id: randomUUID(), projectId: 'project-1' };
  const input = { id, userId, task, title: 'A title', payload: payloads.plan_requested };
  return { query, variables: { input } };
}

type Subscriber = ReturnType<typeof startSubscriber>;

/** Subscribes to the notifications of a sender's user, and again from the last event whenever the stream ends. */
function startSubscriber(proxy: RunningProxy) {
  const user = `${proxy.name}-0`;
  const statuses = new Map<string, string>();
  /** How each stream ended: the code of its last result, and whether it was complete. */
  const ends: string[] = [];
  let stream: SseStream | undefined;
  let isStopped = false;

  async function run(): Promise<void> {
    let cursor: string | undefined;
    while (!isStopped) {
      stream = await subscribeToNotifications(proxy, user, cursor);
      let code: string | undefined;
      while (code === undefined) {
        const { data, errors } = await stream.take();
        code = errors[0]?.extensions.code;
        if (code !== undefined) break;
        const { notification } = data.notificationEvents;
        cursor = data.notificationEvents.cursor;
        statuses.set(notification.id, notification.status.toLowerCase());
      }
      ends.push(`${code} ${await stream.ended}`);
    }
  }

  const running = run().catch((error: unknown) => {
    if (!isStopped) ends.push(String(error));
  });
  return {
    user,
    statuses,
    ends,
    async stop(): Promise<void> {
      isStopped = true;
      stream?.close();
      await running;
    },
  };
}
