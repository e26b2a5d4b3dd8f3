import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasProxies, proxyPrograms, type RunningProxy, startProxy } from '../foreign/proxies.ts';
import { rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readRepositoryFile } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { type Process, runProcess, startProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';
import { freePort, getPort } from '../support/servers.ts';
import { member } from '../support/tokens.ts';
import { type Load, type Subscriber, startLoad, startSubscribers } from './traffic.ts';

const ROLLS = 5;
/** Sent through each proxy during the rolls, four of five by POST. */
const REQUESTS = 10_000;
/** The live streams of each of a proxy's 20 users: 200 through nginx and through HAProxy. */
const streamsPerUser = (name: string) => (name === 'caddy' ? 1 : 10);
/** Measured at each proxy, against the same ones of a gateway. */
const EVENTS = 40;

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
      const subscribers = await startSubscribers(proxy, streamsPerUser(proxy.name));
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
