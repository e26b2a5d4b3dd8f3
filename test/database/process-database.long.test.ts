import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { describeConnectionFailure, describeDatabase } from '../../src/database/connection-failure.ts';
import { version } from '../../src/version.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { runProcess, startGatewayProcess } from '../support/process.ts';
import { createCertificate, freePort, getPort } from '../support/servers.ts';
import { AUDIENCE, ISSUER, jwks } from '../support/tokens.ts';

let database: TestDatabase;
let silentServer: Server;
/** Agrees to TLS, as PostgreSQL does. */
let tlsServer: Server;

beforeAll(async () => {
  database = await createEmptyDatabase();
  silentServer = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silentServer, 'listening');
  const certificate = createCertificate('IP:127.0.0.1');
  tlsServer = createServer((socket) => {
    socket.once('data', () => {
      socket.write('S');
      new TLSSocket(socket, { isServer: true, ...certificate }).on('error', () => undefined);
    });
  }).listen(0, '127.0.0.1');
  await once(tlsServer, 'listening');
});
afterAll(async () => {
  silentServer.close();
  tlsServer.close();
  await database.sql('drop role if exists crowded');
  await database.drop();
});

const productionSettings = {
  NODE_ENV: 'production',
  GRAPHIQL: 'false',
  AUTH_JWKS: JSON.stringify(jwks),
  AUTH_ISSUER: ISSUER,
  AUTH_AUDIENCE: AUDIENCE,
  ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
};

const serve = (settings: Record<string, string>) =>
  runProcess('src/main.ts', { PORT: '0', GRAPHIQL: 'false', ...settings });

test('production refuses to start on an unmigrated database, changes nothing, and starts after npm run migrate', async () => {
  const settings = { ...productionSettings, DATABASE_URL: database.url };
  const refused = await serve(settings);
  expect(refused).toMatchObject({ status: 1, stdout: '' });
  expect(refused.stderr).toMatch(
    /^The database lacks Migration\w+(, Migration\w+)*\. Stop all gateways and workers, and run with the same settings: npm run migrate\n$/,
  );
  expect(await database.sql(`select from pg_tables where schemaname = 'public'`)).toEqual([]);

  const migrated = await runProcess('src/commands/migrate.ts', settings);
  expect(migrated).toMatchObject({ status: 0, stderr: '' });
  expect(migrated.stdout).toMatch(
    /^Using the database "test_\w+" at 127\.0\.0\.1:\d+\.\nApplied Migration\w+\n/,
  );

  const gateway = await startGatewayProcess(settings);
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
  const { status, stdout, stderr } = await gateway.stop();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('time');
}, 60_000);

test('refuses to start on a database that requires a later version', async () => {
  const newer = await createTestDatabase();
  const name = 'Migration20990101000000_requires_10_0_0_drop_title';
  await newer.sql('insert into mikro_orm_migrations (name) values ($1)', [name]);
  expect(await serve({ DATABASE_URL: newer.url })).toEqual({
    status: 1,
    stdout: '',
    stderr: `The database requires version 10.0.0 of the gateway or a later one, because ${name} was applied. This is version ${version}: stop it and start that version.\n`,
  });
  await newer.drop();
});

const SERVER =
  'Check that PostgreSQL is running there and accepts connections, or correct the host and port in DATABASE_URL.';
const PASSWORD =
  'Correct the user and password in DATABASE_URL; special characters must be percent-encoded ("@" as %40).';

describe('exits with one line, without the password, that names the database', () => {
  /** Changes a part of the URL of the tests' server. */
  function change(part: 'username' | 'password' | 'pathname' | 'host' | 'search', value: string): string {
    const url = new URL(inject('postgresUrl'));
    url[part] = value;
    return url.href;
  }
  const at = (port: number) => `postgres://user:secret-word@127.0.0.1:${port}/gateway`;

  test.each<[failure: string, createUrl: () => string | Promise<string>, reason: string]>([
    ['connection refused', async () => at(await freePort()), `connection refused. ${SERVER}`],
    [
      'an unknown host',
      () => change('host', 'no-such-host.invalid:5432'),
      'unknown host name. Correct the host in DATABASE_URL, or check the name server.',
    ],
    ['no reply', () => at(getPort(silentServer)), `timeout expired. ${SERVER}`],
    [
      'a wrong password',
      () => change('password', 'secret-word'),
      `password authentication failed for user "gateway". ${PASSWORD}`,
    ],
    ['no password', () => change('password', ''), `PostgreSQL requires a password. ${PASSWORD}`],
    [
      'an unknown database',
      () => change('pathname', '/no_such_database'),
      'database "no_such_database" does not exist. Create it, or correct the name in DATABASE_URL.',
    ],
    [
      'a missing certificate',
      () => change('search', 'sslrootcert=/no/such/file'),
      `ENOENT: no such file or directory, open '/no/such/file'. Correct the path of the socket or certificate in DATABASE_URL.`,
    ],
    [
      'a server without TLS',
      () => change('search', 'sslmode=verify-full'),
      'The server does not support SSL connections. Enable TLS in PostgreSQL (ssl = on), or remove sslmode from DATABASE_URL if the network is trusted.',
    ],
    [
      'a certificate of an unknown authority',
      () => `${at(getPort(tlsServer))}?sslmode=verify-full`,
      "the certificate of the server is not trusted. Set sslrootcert in DATABASE_URL to the file with the certificate of the authority that issued the server's.",
    ],
    [
      'too many connections',
      async () => {
        await database.sql("create role crowded login connection limit 0 password 'secret-word'");
        return change('username', 'crowded').replace(/:[^:@]+@/, ':secret-word@');
      },
      'too many connections for role "crowded". Raise max_connections of PostgreSQL, lower DATABASE_POOL_SIZE, or stop programs that use connections.',
    ],
  ])('%s', async (_failure, createUrl, reason) => {
    const url = await createUrl();
    const { host, pathname } = new URL(url);
    const starting = serve({ DATABASE_URL: url, DATABASE_TIMEOUT_MS: '2000' });
    expect(await starting).toEqual({
      status: 1,
      stdout: '',
      stderr: `Connecting to the database "${pathname.slice(1)}" at ${host} failed: ${reason}\n`,
    });
  });
});

test('a connection that a vanished database closes while migrations are read is reported like one at the start', () => {
  const lost = Object.assign(new Error('select name from mikro_orm_migrations'), { code: 'ECONNREFUSED' });
  const failure = describeConnectionFailure(
    'postgres://user:secret-word@[::1]:5433/gateway?sslmode=disable',
    lost,
  );
  expect(failure?.message).toBe(
    `Connecting to the database "gateway" at [::1]:5433 failed: connection refused. ${SERVER}`,
  );
  expect(describeConnectionFailure('postgres://db.test/gateway', new Error('a bug'))).toBeUndefined();
});

test('a database is described by name, host and port', () => {
  const inSocket = 'postgres:///gateway?host=/var/run/postgresql&port=5433';
  expect(describeDatabase(inSocket)).toBe('the database "gateway" at /var/run/postgresql:5433');
  expect(describeDatabase('postgres://user:secret-word@db.test')).toBe('the database "user" at db.test:5432');
});
