import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasProxies, proxyPrograms, type RunningProxy, startProxy } from '../foreign/proxies.ts';
import { rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readRepositoryFile } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor } from '../support/gateway.ts';
import { currentCursor, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { type Process, runProcess, startProcess } from '../support/process.ts';
import { notification, publish } from '../support/records.ts';
import { freePort, getPort } from '../support/servers.ts';
import { member, platform } from '../support/tokens.ts';

const ROLLS = 5;
/** Sent through each proxy during the rolls, four of five by POST. */
const REQUESTS = 10_000;
/** The live streams of each of a proxy's 20 users: 200 through nginx and through HAProxy. */
const streamsPerUser = (name: string) => (name === 'caddy' ? 1 : 10);
/** Measured at each proxy, against the same ones of a gateway. */
const EVENTS = 40;

const SENDERS = 4;
/** The interval of a sender's requests, so that the load lasts for all restarts without occupying the machine. */
const INTERVAL_MS = 50;
/** The users of a proxy, to whom its senders' requests belong in turn. */
const USERS = 20;
/** How long clients wait before they subscribe again, as documented: one to two seconds. */
const resubscribeMs = () => 1000 * (1 + Math.random());

/** Returns the users of a proxy. */
const usersOf = ({ name }: RunningProxy) => Array.from({ length: USERS }, (_, number) => `${name}-${number}`);

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
  /** The first gateway, without a proxy. */
  let direct: { address: string };
  let observed: { proxy: RunningProxy; load: Load; subscribers: Subscriber[] }[];

  beforeAll(async () => {
    folder = await makeFolder();
    database = await createTestDatabase();
    const settings = { ...settingsFor(database), ...delays };
    const ports = [await freePort(), await freePort()];
    direct = { address: `http://127.0.0.1:${ports[0]}` };
    gateways = ports.map((port) => createGateway({ ...settings, PORT: `${port}` }));
    await Promise.all(gateways.map(({ start }) => start()));
    const proxies = await Promise.all(proxyPrograms.map((program) => startProxy(program, folder, ports)));
    observed = [];
    for (const proxy of proxies) {
      const streams = usersOf(proxy).flatMap((user) => Array<string>(streamsPerUser(proxy.name)).fill(user));
      const subscribers = await Promise.all(streams.map((user) => startSubscriber(proxy, user)));
      observed.push({ proxy, subscribers, load: startLoad(proxy, REQUESTS) });
    }

    for (let roll = 0; roll < ROLLS; roll += 1) for (const { restart } of gateways) await restart();
    await Promise.all(observed.map(({ load }) => load.stop()));
  }, 10 * 60_000);
  afterAll(async () => {
    await Promise.all((observed ?? []).flatMap(({ subscribers }) => subscribers.map(({ stop }) => stop())));
    await Promise.all((gateways ?? []).map(({ kill }) => kill()));
    await Promise.all((observed ?? []).map(({ proxy }) => proxy.stop()));
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
    '$program passes on the end of all live streams, which are resumed without a gap',
    async ({ program }) => {
      const { subscribers } = find(program);
      expect(subscribers).toHaveLength(20 * streamsPerUser(program));
      const ends = subscribers.flatMap((subscriber) => subscriber.ends);
      expect(ends.length).toBeGreaterThanOrEqual(ROLLS * subscribers.length);
      expect(new Set(ends)).toEqual(new Set(['GOING_AWAY complete']));
      const rows = await database.sql(
        'select user_id as user, id, status from notification where user_id like $1',
        [`${program}-%`],
      );
      const stored = Map.groupBy(rows, ({ user }) => user);
      await eventually(() => {
        for (const { user, statuses } of subscribers) {
          expect(statuses).toEqual(new Map(stored.get(user)?.map(({ id, status }) => [id, status])));
        }
      });
    },
  );

  test.each(proxyPrograms)(
    '$program passes on live events within 20 ms (median), and bodies larger than the gateway accepts',
    async ({ program }) => {
      const { proxy } = find(program);
      const streams = [
        await subscribeToNotifications(proxy, 'bob'),
        await subscribeToNotifications(direct, 'bob'),
      ];
      const delays: number[] = [];
      for (let count = 0; count < EVENTS; count += 1) {
        await publish(direct, 'bob');
        const [behind = Number.NaN, before = Number.NaN] = await Promise.all(
          streams.map(async (stream) => {
            expect((await nextEvent(stream)).type).toBe('CREATED');
            return performance.now();
          }),
        );
        delays.push(behind - before);
      }
      expect(delays.sort((a, b) => a - b)[EVENTS / 2]).toBeLessThanOrEqual(20);
      for (const stream of streams) stream.close();

      const body = { preferences: ' '.repeat(1024 * 1024) };
      const reply = await rest(proxy, 'PUT', '/user/notification-preferences', {
        token: await member('bob'),
        body,
      });
      expect(reply).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    },
  );
});

describe.skipIf(!hasProxies)('the configurations of proxies (need root, nginx, HAProxy and Caddy)', () => {
  test.each(proxyPrograms)('$program accepts $file', ({ program, file, check }) => {
    const { status, stderr } = spawnSync(program, check(`${repository}${file}`), { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  });

  test.each(proxyPrograms)(
    '$program forwards where a request comes from, and not what the caller claims',
    async (proxy) => {
      const folder = await makeFolder();
      const echo = createServer((request, response) => response.end(JSON.stringify(request.headers)));
      echo.listen(0, '127.0.0.1');
      await once(echo, 'listening');
      const port = getPort(echo);
      const running = await startProxy(proxy, folder, [port, port]);
      const claimed = {
        'X-Forwarded-For': '192.0.2.1',
        'X-Forwarded-Host': 'evil.test',
        'X-Forwarded-Proto': 'gopher',
      };
      const reply = await fetch(running.address, { headers: { ...claimed, Authorization: 'Bearer token' } });
      const { host } = new URL(running.address);
      expect(await reply.json()).toMatchObject({
        host,
        authorization: 'Bearer token',
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-host': host,
        'x-forwarded-proto': 'http',
      });
      await running.stop();
      echo.close();
      echo.closeAllConnections();
      await removeFolder(folder);
    },
  );
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
    const output = status === 0 ? '' : (await process.stop()).stderr;
    expect(status, `${stderr}${process.stdout()}${output}`).toBe(0);
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

/** Requests that are sent until stopped, and what became of them. */
type Load = ReturnType<typeof startLoad>;

/**
 * Sends reads and changes through a proxy on kept-alive connections, until it is stopped and at least `minimum` were sent.
 */
function startLoad(proxy: RunningProxy, minimum: number) {
  const { address } = proxy;
  const users = usersOf(proxy);
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

  /** Sends four changes, or queries by POST, for each GET. */
  async function run(sender: number): Promise<void> {
    const service = await platform();
    for (let round = 0; !isStopping || replies + lost.length < minimum; round += 1) {
      const user = users[(round * SENDERS + sender) % users.length] ?? '';
      const token = await member(user);
      const id = `n-${round}`;
      const steps = [
        () => send('POST', '/graphql', service, publication(user, id)),
        () => send('GET', '/user/notifications?limit=20', token),
        () => send('POST', '/graphql', token, { query: '{ notificationCounts { total } }' }),
        () => send('POST', '/graphql', service, publication(user, `${id}-2`)),
        () => send('POST', `/user/notifications/${id}/dismiss`, token),
      ];
      published += 2;
      for (const step of steps) {
        const ended = pause(INTERVAL_MS);
        await step();
        await ended;
      }
    }
  }

  const running = Promise.all(Array.from({ length: SENDERS }, (_, sender) => run(sender)));
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

const PUBLISH =
  'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }';
const publication = (userId: string, id: string) => ({
  query: PUBLISH,
  variables: { input: notification(userId, 'plan_requested', { id }) },
});

/** A client of live events, and how its streams ended. */
type Subscriber = Awaited<ReturnType<typeof startSubscriber>>;

/** Subscribes to a user's notifications, and again from the last event whenever the stream ends. */
async function startSubscriber(proxy: RunningProxy, user: string) {
  const statuses = new Map<string, string>();
  /** How each stream ended: the code of its last result, and whether it was complete. */
  const ends: string[] = [];
  let cursor = await currentCursor(proxy, user);
  let stream = await subscribeToNotifications(proxy, user, cursor);
  let isStopped = false;

  async function run(): Promise<void> {
    while (!isStopped) {
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
      await pause(resubscribeMs());
      if (!isStopped) stream = await subscribeToNotifications(proxy, user, cursor);
    }
  }

  const running = run().catch((error: unknown) => {
    if (!isStopped) ends.push(error instanceof Error ? `${error} ${error.cause}` : String(error));
  });
  return {
    user,
    statuses,
    ends,
    async stop(): Promise<void> {
      isStopped = true;
      stream.close();
      await running;
    },
  };
}
