import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { startDatabaseServer } from '../src/database/database-server.ts';
import { describeFailure, OperatorError } from '../src/errors/operator-error.ts';
import { version } from '../src/version.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from './support/database.ts';
import { runProcess, startGatewayProcess } from './support/process.ts';
import { getPort } from './support/proxy.ts';
import { AUDIENCE, ISSUER, jwks } from './support/tokens.ts';

let database: TestDatabase;
let silentServer: Server;

beforeAll(async () => {
  database = await createEmptyDatabase();
  silentServer = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silentServer, 'listening');
});
afterAll(async () => {
  silentServer.close();
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
    /^The database lacks Migration\w+(, Migration\w+)*\. Run: npm run migrate\n$/,
  );
  expect(await database.sql(`select from pg_tables where schemaname = 'public'`)).toEqual([]);

  const migrated = await runProcess('src/commands/migrate.ts', settings);
  expect(migrated).toMatchObject({ status: 0, stderr: '' });
  expect(migrated.stdout).toMatch(/^Applied Migration\w+_initial\n/);

  const gateway = await startGatewayProcess(settings);
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
  const { status, stdout, stderr } = await gateway.stop();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('time');
}, 60_000);

test.each(['production', 'development'])(
  'in %s, refuses to start on a database that requires a later version',
  async (NODE_ENV) => {
    const newer = await createTestDatabase();
    await newer.sql(
      `insert into mikro_orm_migrations (name) values ('Migration20990101000000_requires_10_0_0_drop_title')`,
    );
    const ended = await serve({ ...productionSettings, NODE_ENV, DATABASE_URL: newer.url });
    expect(ended).toEqual({
      status: 1,
      stdout: '',
      stderr: `The database requires version 10.0.0 of the gateway or a later one, because Migration20990101000000_requires_10_0_0_drop_title was applied. This is version ${version}.\n`,
    });
    await newer.drop();
  },
);

test('exits with status 1 and the address if the database is unreachable', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const port = getPort(closed);
  closed.close();
  await once(closed, 'close');

  const ended = await serve({ DATABASE_URL: `postgres://user:secret-word@127.0.0.1:${port}/gateway` });
  expect(ended).toMatchObject({ status: 1, stdout: '' });
  expect(ended.stderr).toMatch(
    new RegExp(
      `^Connecting to the database at 127\\.0\\.0\\.1:${port} failed: connect ECONNREFUSED .*DATABASE_URL.*\\n$`,
    ),
  );
  expect(ended.stderr).not.toContain('secret-word');
});

test('exits within the timeout if the database accepts the connection but never replies', async () => {
  const url = `postgres://user@127.0.0.1:${getPort(silentServer)}/gateway`;
  const ended = await serve({ DATABASE_URL: url, DATABASE_TIMEOUT_MS: '200' });
  expect(ended).toMatchObject({ status: 1, stdout: '' });
  expect(ended.stderr).toMatch(/^Connecting to the database at 127\.0\.0\.1:\d+ failed: .*timeout.*\n$/);
});

test("exits with PostgreSQL's error if the password or the database name is wrong", async () => {
  const wrong = new URL(inject('postgresUrl'));
  wrong.password = 'not-the-password';
  const missing = new URL(inject('postgresUrl'));
  missing.pathname = '/no_such_database';
  const [password = '', name = ''] = await Promise.all([wrong, missing].map(refusal));
  expect(password).toMatch(/failed: password authentication failed for user "\w+"\. /);
  expect(password).not.toContain('not-the-password');
  expect(name).toMatch(/failed: database "no_such_database" does not exist\. /);
});

/** Returns the error of a start with an unusable database. */
async function refusal({ href }: URL): Promise<string> {
  const starting = startDatabaseServer(readConfig({ DATABASE_URL: href }), 'own', () => undefined);
  const error: unknown = await starting.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(OperatorError);
  return describeFailure(error);
}
