import { afterAll, beforeAll, expect, test } from 'vitest';
import { version } from '../../src/version.ts';
import { rest } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();
let proxied: TestGateway;
let proxy: TestProxy;

beforeAll(async () => {
  await eventually(async () => expect((await ask(gateway, '/readyz')).body.checks).toEqual(allOk));
  const { port } = new URL(gateway.database.url);
  proxy = await startProxy(Number(port));
  const behind = new URL(gateway.database.url);
  behind.port = String(proxy.port);
  const settings = { DATABASE_URL: behind.href, DATABASE_TIMEOUT_MS: '200' };
  proxied = await startTestGateway(settings, gateway.database);
});
afterAll(async () => {
  await proxied.close();
  await proxy.close();
});

const allOk = { process: 'ok', database: 'ok', migrations: 'ok', key_set: 'ok', live_events: 'ok' };

async function ask({ address }: TestGateway, path: string) {
  const response = await fetch(`${address}${path}`);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** On a busy machine, the short database timeout may pass before the first reply. */
const waitUntilReady = (target: TestGateway) =>
  eventually(async () => expect((await ask(target, '/readyz')).status).toBe(200));

test('/healthz returns 200 without a token', async () => {
  const { status, headers, body } = await ask(gateway, '/healthz');
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } });
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
});

test('/readyz returns 200 without a token if the database is reachable and migrated', async () => {
  const { status, headers, body } = await ask(gateway, '/readyz');
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ready', checks: allOk } });
  expect(headers.get('cache-control')).toBe('no-store');
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
  const { status: served } = await rest(gateway, 'GET', '/user/workspaces', { token: await member('alice') });
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

test('other methods and other spellings of both paths return 404', async () => {
  for (const path of ['/healthz/', '/readyz/', '/Healthz']) {
    expect((await fetch(`${gateway.address}${path}`)).status).toBe(404);
  }
  expect((await fetch(`${gateway.address}/readyz`, { method: 'POST' })).status).toBe(404);
});
