import { Gauge, Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createLog } from '../../src/log.ts';
import { startAdminServer } from '../../src/server/monitoring.ts';
import { version } from '../../src/version.ts';
import { rest } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { member } from '../support/tokens.ts';

const admin = { ADMIN_PORT: '0', REUSE_PORT: 'true' };
const gateway = useGateway(admin);

/** Starts another gateway on the same database, until the end of the test. */
async function start(settings: Record<string, string>): Promise<TestGateway> {
  const started = await startTestGateway(settings, gateway.database);
  onTestFinished(() => started.close());
  return started;
}

const status = async (url: string, options?: RequestInit) => (await fetch(url, options)).status;

describe('health', () => {
  let proxied: TestGateway;
  let proxy: TestProxy;
  beforeAll(async () => {
    await eventually(async () => expect((await ask(gateway, '/readyz')).body.checks).toEqual(allOk));
    const behind = new URL(gateway.database.url);
    proxy = await startProxy(Number(behind.port));
    behind.port = String(proxy.port);
    const settings = { DATABASE_URL: behind.href, DATABASE_TIMEOUT_MS: '200' };
    proxied = await startTestGateway(settings, gateway.database);
  });
  afterAll(async () => {
    await proxied.close();
    await proxy.close();
  });

  const allOk = { process: 'ok', database: 'ok', migrations: 'ok', key_set: 'ok', live_events: 'ok' };

  async function ask({ address }: { address: string }, path: string) {
    const response = await fetch(`${address}${path}`);
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** On a busy machine, the short database timeout may pass before the first reply. */
  const waitUntilReady = (target: TestGateway) =>
    eventually(async () => expect((await ask(target, '/readyz')).status).toBe(200));

  test.each([
    ['/healthz', { status: 'ok' }],
    ['/readyz', { status: 'ready', checks: allOk }],
  ])('%s returns 200 on both ports, without a token', async (path, expected) => {
    for (const address of [gateway.address, gateway.adminAddress]) {
      const { status, headers, body } = await ask({ address }, path);
      expect({ status, body }).toEqual({ status: 200, body: expected });
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  test('/readyz returns 503 and names a missing migration', async () => {
    const { database } = gateway;
    const rows = await database.sql(
      'delete from mikro_orm_migrations where id = (select max(id) from mikro_orm_migrations) returning name',
    );
    const { status, body } = await ask(gateway, '/readyz');
    expect(status).toBe(503);
    const migrations = `The database lacks ${rows[0]?.name}. Stop all gateways and workers, and run with the same settings: npm run migrate`;
    expect(body).toEqual({ status: 'not_ready', checks: { ...allOk, migrations } });

    await database.sql('insert into mikro_orm_migrations (name) values ($1)', [rows[0]?.name]);
    expect((await ask(gateway, '/readyz')).status).toBe(200);
  });

  test('/readyz returns 503 once the database requires a later version, and requests are still served', async () => {
    const { database } = gateway;
    const name = 'Migration20990101000000_requires_9_10_0_drop_title';
    await database.sql('insert into mikro_orm_migrations (name) values ($1)', [name]);
    const { status, body } = await ask(gateway, '/readyz');
    expect(status).toBe(503);
    const migrations = `The database requires version 9.10.0 of the gateway or a later one, because ${name} was applied. This is version ${version}: stop it and start that version.`;
    expect(body).toEqual({ status: 'not_ready', checks: { ...allOk, migrations } });
    expect(gateway.logLines().some((line) => line.includes(name))).toBe(true);
    const { status: served } = await rest(gateway, 'GET', '/user/workspaces', {
      token: await member('alice'),
    });
    expect(served).toBe(200);

    await database.sql('delete from mikro_orm_migrations where name = $1', [name]);
    expect((await ask(gateway, '/readyz')).status).toBe(200);
  });

  test('/readyz returns 200 while later versions have only added to the schema, or require this version', async () => {
    const { database } = gateway;
    const names = [
      'Migration20990101000000_add_title',
      `Migration20990101000001_requires_${version.replaceAll('.', '_')}_drop_title`,
      'Migration20990101000002_requires_0_1_10_drop_subtitle',
    ];
    await database.sql('insert into mikro_orm_migrations (name) select unnest($1::text[])', [names]);
    expect((await ask(gateway, '/readyz')).body.checks).toEqual(allOk);
    await database.sql('delete from mikro_orm_migrations where name = any($1)', [names]);
  });

  test.each(['refuse', 'stall'] as const)(
    'while the database is unreachable (%s), /readyz returns 503 within the timeout, and 200 after recovery',
    async (state) => {
      await waitUntilReady(proxied);
      await proxy.setState(state);
      const { status, body } = await ask(proxied, '/readyz');
      const checks = { process: 'ok', database: 'unreachable', migrations: 'unknown' };
      expect({ status, body }).toMatchObject({ status: 503, body: { status: 'not_ready', checks } });
      expect((await ask(proxied, '/healthz')).status).toBe(200);
      await proxy.setState('open');
      await waitUntilReady(proxied);
    },
  );

  test('/readyz reports interrupted live events but returns 200', async () => {
    const { database } = gateway;
    const interrupted = await eventually(async () => {
      await database.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database()
           and (query ilike 'listen %' or query = 'select 1' or query like 'begin; set local%')`,
      );
      const reply = await ask(gateway, '/readyz');
      expect(reply.body.checks.live_events).toBe('connection interrupted');
      return reply;
    });
    expect(interrupted.status).toBe(200);
    expect(interrupted.body).toMatchObject({ status: 'ready', checks: { database: 'ok' } });
    await eventually(async () => expect((await ask(gateway, '/readyz')).body.checks).toEqual(allOk));
  });
});

describe('metrics', () => {
  const REQUESTS = 40;

  /** Returns the number of requests that one process has counted, read at its admin port. */
  async function countRequests({ adminAddress }: TestGateway): Promise<number> {
    const route = { http_route: '/user/workspaces' };
    const scraped = await scrape({ address: adminAddress });
    return scraped.sum('http_server_request_duration_seconds_count', route) ?? 0;
  }

  test('of processes that share a port are their own, at their own admin ports', async () => {
    const processes = [gateway, await start({ ...admin, PORT: new URL(gateway.address).port })];
    expect(new Set(processes.map(({ address }) => address)).size).toBe(1);
    const before = await countRequests(gateway);
    const token = await member('alice');
    for (let number = 0; number < REQUESTS; number += 1)
      await rest(gateway, 'GET', '/user/workspaces', { token, headers: { Connection: 'close' } });

    const counts = () => Promise.all(processes.map(countRequests));
    await eventually(async () =>
      expect((await counts()).reduce((sum, count) => sum + count, 0) - before).toBe(REQUESTS),
    );
    const [first = 0, second] = await counts();
    expect(first).toBeGreaterThan(before);
    expect(second).toBeGreaterThan(0);
    expect(await counts()).toEqual([first, second]);
  });

  test.each([
    ['the public port, with an admin port', admin, 404, 200],
    ['a public address', { HOST: '0.0.0.0' }, 404, undefined],
    ['a public admin address', { ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '0' }, 404, 404],
  ])('without METRICS_TOKEN are not served on %s', async (_where, settings, atPublic, atAdmin) => {
    const { address, adminAddress } = await start(settings);
    const read = (at: string) => status(`http://127.0.0.1:${new URL(at).port}/metrics`);
    expect(await read(address)).toBe(atPublic);
    if (atAdmin) expect(await read(adminAddress)).toBe(atAdmin);
  });

  test.each(['address', 'adminAddress'] as const)('require METRICS_TOKEN, if it is set: %s', async (port) => {
    const secret = 'a-token-for-metrics';
    const own = port === 'adminAddress' ? { ADMIN_PORT: '0' } : {};
    const guarded = await start({ METRICS_TOKEN: secret, LOG_LEVEL: 'debug', ...own });
    for (const [sent, challenge] of [
      [undefined, 'Bearer'],
      [secret, 'Bearer'],
      [`Basic ${secret}`, 'Bearer'],
      [`Bearer ${secret}x`, 'Bearer error="invalid_token"'],
      [`Bearer ${secret.slice(1)}`, 'Bearer error="invalid_token"'],
      [`Bearer ${await member('alice')}`, 'Bearer error="invalid_token"'],
    ]) {
      const headers: Record<string, string> = sent === undefined ? {} : { Authorization: sent };
      const reply = await fetch(`${guarded[port]}/metrics`, { headers });
      expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, challenge]);
    }
    const { samples } = await scrape({ address: guarded[port] }, { Authorization: `Bearer ${secret}` });
    expect(samples.length).toBeGreaterThan(10);
    expect(await status(`${guarded[port]}/readyz`)).toBe(200);
    expect(guarded.logLines().join('\n')).not.toContain(secret);
  });

  test('are 500 if they cannot be collected, and the cause is logged', async () => {
    const registry = new Registry();
    new Gauge({
      name: 'broken',
      help: 'A metric that cannot be collected.',
      registers: [registry],
      collect: () => Promise.reject(new Error('not collected')),
    });
    const database = await openDatabase({ url: gateway.database.url, poolSize: 1, timeoutMs: 1000 });
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
});

test('serves nothing else on the admin port, and no other methods and spellings on both', async () => {
  for (const path of ['/', '/graphql', '/user/workspaces', '/docs', '/metrics/'])
    expect(await status(`${gateway.adminAddress}${path}`), path).toBe(404);
  expect(await status(`${gateway.adminAddress}/metrics`, { method: 'POST' })).toBe(404);
  for (const path of ['/healthz/', '/readyz/', '/Healthz'])
    expect(await status(`${gateway.address}${path}`), path).toBe(404);
  expect(await status(`${gateway.address}/readyz`, { method: 'POST' })).toBe(404);
});

test.each<[what: string, running: object, starting: object, setting: 'PORT' | 'ADMIN_PORT']>([
  ['the admin port', admin, {}, 'ADMIN_PORT'],
  ['the port, if only the first sets REUSE_PORT', { REUSE_PORT: 'true' }, {}, 'PORT'],
  ['the port, if only the second sets REUSE_PORT', {}, { REUSE_PORT: 'true' }, 'PORT'],
])('fails to start if %s is in use', async (_what, running, starting, setting) => {
  const { address, adminAddress } = await start({ ...running });
  const { port } = new URL(setting === 'PORT' ? address : adminAddress);
  await expect(start({ ...starting, [setting]: port })).rejects.toThrow(
    `Port ${port} of 127.0.0.1 is in use. Stop the process that uses it, or set ${setting} to another port`,
  );
});

test('closes the admin port together with the gateway', async () => {
  const short = await startTestGateway({ ADMIN_PORT: '0' }, gateway.database);
  await short.close();
  await expect(fetch(`${short.adminAddress}/healthz`)).rejects.toThrow();
});
