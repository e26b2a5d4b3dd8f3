import { existsSync } from 'node:fs';
import { appendFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../dev/postgres/embedded-postgres.ts';
import { readConfig } from '../../src/config.ts';
import type { DatabaseServer } from '../../src/database/database-server.ts';
import { migrate } from '../../src/database/migrate.ts';
import { lazy } from '../../src/values/lazy.ts';
import { graphql, rest } from '../support/client.ts';
import { createTestDatabase, existingDatabase } from '../support/database.ts';
import { readSettings } from '../support/documentation.ts';
import { copyCluster, makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { programs, removeLocationNotice, runProcess } from '../support/process.ts';
import { jwks } from '../support/tokens.ts';

let folder: string;
let settings: { DATA_DIR: string };
let postgres: DatabaseServer;
let gateway: TestGateway;
/** The first line of a command that changes the database. */
let using: string;

beforeAll(async () => {
  folder = await makeFolder();
  settings = { DATA_DIR: join(folder, 'data') };
  using = `Using the embedded database in ${settings.DATA_DIR}.\n`;
  await copyCluster(settings.DATA_DIR);
  postgres = await startEmbeddedPostgres({ dataDir: settings.DATA_DIR, printLine: () => undefined });
  await migrate(postgres.url);
  const keySet = {
    AUTH_JWKS: '',
    AUTH_ISSUER: '',
    AUTH_AUDIENCE: 'here',
    AUTH_TASK_USER_CLAIM: '',
    AUTH_TASK_CLAIM: '',
  };
  gateway = await startTestGateway({ ...settings, ...keySet }, existingDatabase(postgres.url));
});
afterAll(async () => {
  await stop();
  await removeFolder(folder);
});

/** Stops the gateway and its database, once. */
const stop = lazy(async () => {
  await gateway.close();
  await postgres.stop();
});

const token = (options: string[], environment: Record<string, string> = {}) =>
  runProcess('src/commands/token.ts', { ...settings, AUTH_AUDIENCE: 'here', ...environment }, options);

async function printedToken(...options: string[]): Promise<string> {
  const ended = await token(options);
  expect(ended).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/),
    stderr: '',
  });
  return ended.stdout.trim();
}

describe('every program', () => {
  const refusals = programs.flatMap((program) => [
    [program, '--dry-run', "Unknown option '--dry-run'"] as const,
    // Takes a file.
    ...(program === 'src/commands/settings.ts' ? [] : [[program, 'x', "Unexpected argument 'x'"] as const]),
  ]);
  /** Runs a program, which must not create its data directory. */
  const runIdle = async (program: (typeof programs)[number], argument: string) => {
    const DATA_DIR = join(folder, 'nothing');
    const ended = await runProcess(program, { DATA_DIR }, [argument]);
    expect(existsSync(DATA_DIR)).toBe(false);
    return ended;
  };

  test.each(programs)('%s prints its usage with --help', async (program) => {
    const usage = expect.stringMatching(/^Usage: (npm|node) /);
    expect(await runIdle(program, '--help')).toEqual({ status: 0, stdout: usage, stderr: '' });
  });

  test.each(refusals)('%s refuses the argument %s with its usage, and does nothing', async (...given) => {
    const [program, argument, message] = given;
    const { status, stdout, stderr } = await runIdle(program, argument);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^${message}.*\\n(.*\\n)*Usage: (npm|node) `));
  });
});

describe('npm run token', () => {
  test('prints only a token, which is valid for an hour, has the given claims, and is accepted', async () => {
    const readEditor = async (token: string) => (await rest(gateway, 'GET', '/editor/auth', { token })).body;
    const printed = await printedToken('--sub', 'alice');
    const { iat = 0, exp = 0, ...claims } = decodeJwt(printed);
    expect(claims).toEqual({ sub: 'alice', aud: 'here' });
    expect(exp - iat).toBe(3600);
    expect((await readEditor(printed)).code).toBe('org_membership_required');
    const member = await printedToken('--sub', 'alice', '--org', 'acme');
    expect(await readEditor(member)).toMatchObject({ needs_reauth: false });
  });

  test('signs a token with exactly the given scope', async () => {
    const printed = await printedToken('--sub', 'service', '--scope', 'platform:read platform:notifications');
    const reply = await graphql(gateway, '{ platform { __typename } }', {}, { token: printed });
    expect(reply.errors).toEqual([]);
    expect((await rest(gateway, 'GET', '/user/workspaces', { token: printed })).status).toBe(403);
  });

  test('signs a task token with the configured claims, or without settings with those of development', async () => {
    const options = ['--sub', 'runner', '--scope', 'platform:task', '--user', 'alice', '--task', 'task-1'];
    const claims = { AUTH_TASK_USER_CLAIM: 'user', AUTH_TASK_CLAIM: 'task' };
    expect(decodeJwt((await token(options, claims)).stdout)).toMatchObject({
      sub: 'runner',
      scope: 'platform:task',
      user: 'alice',
      task: 'task-1',
    });
    const short = await printedToken('--task', 'task-1', '--user', 'alice');
    expect(decodeJwt(short)).toMatchObject({ sub: 'alice', scope: 'platform:task' });
    const query = '{ request(userId: "alice", notificationId: "none") { state } }';
    const reply = await graphql(gateway, query, {}, { token: short });
    expect(reply.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
  });

  test('fails if another key set is configured, and creates no key', async () => {
    const other = { DATA_DIR: join(folder, 'other'), AUTH_JWKS: JSON.stringify(jwks) };
    const ended = await token(['--sub', 'alice'], other);
    expect(ended).toMatchObject({ status: 1, stdout: '' });
    expect(ended.stderr).toMatch(/^Signing tokens requires the development signing key/);
    expect(existsSync(other.DATA_DIR)).toBe(false);
  });

  test('reports that it created a new key, whose tokens the running gateway rejects', async () => {
    const elsewhere = { DATA_DIR: join(folder, 'elsewhere') };
    const first = await token(['--sub', 'alice'], elsewhere);
    const path = join(elsewhere.DATA_DIR, 'signing-key.json');
    expect(first.stderr).toBe(
      `Generated a new signing key: ${path}. A gateway with another DATA_DIR rejects its tokens.\n`,
    );
    const refused = await rest(gateway, 'GET', '/user/workspaces', { token: first.stdout.trim() });
    expect(refused.status).toBe(401);
    expect(await token(['--sub', 'alice'], elsewhere)).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('npm run seed', () => {
  const seed = (options: string[], environment: Record<string, string> = {}) => {
    const { port } = new URL(gateway.address);
    const address = { PORT: port, AUTH_AUDIENCE: 'here' };
    return runProcess('src/commands/seed.ts', { ...settings, ...address, ...environment }, options);
  };
  const stored = 'Stored 12 notifications and 6 workspaces for alice.\n';
  const statuses = async () => {
    const { body } = await rest(gateway, 'GET', '/user/notifications', {
      token: await printedToken('--sub', 'alice'),
    });
    return body.notifications.map(({ id, status }: { id: string; status: string }) => `${id} ${status}`);
  };

  test('creates the same records again with --reset, and without it keeps what has changed', async () => {
    expect(await seed(['--user', 'alice'])).toEqual({ status: 0, stdout: stored, stderr: '' });
    const fresh = await statuses();
    const alice = await printedToken('--sub', 'alice', '--org', 'acme');
    await rest(gateway, 'POST', '/user/notifications/seed-12/dismiss', { token: alice });
    await rest(gateway, 'PUT', '/editor/auth/subscription', {
      token: alice,
      body: { accessToken: 'access', refreshToken: 'refresh' },
    });

    await seed(['--user', 'alice']);
    expect(await statuses()).not.toEqual(fresh);

    expect(await seed(['--user', 'alice', '--reset'])).toEqual({
      status: 0,
      stdout: `Deleted all data of alice.\n${stored}`,
      stderr: '',
    });
    expect(await statuses()).toEqual(fresh);
    const { body } = await rest(gateway, 'GET', '/editor/auth', { token: alice });
    expect(body.auth.type).toBe('none');
  });

  test('--reset deletes nothing if another key set is configured', async () => {
    const before = await statuses();
    const ended = await seed(['--user', 'alice', '--reset'], { AUTH_JWKS: JSON.stringify(jwks) });
    expect(ended).toMatchObject({ status: 1, stdout: '' });
    expect(ended.stderr).toMatch(/^Seeding requires the development signing key/);
    expect(await statuses()).toEqual(before);
  });
});

describe('npm run migrate', () => {
  test("attaches to the running gateway's database, reports that it is up to date, and leaves it running", async () => {
    const ended = await runProcess('src/commands/migrate.ts', settings);
    expect(ended).toEqual({ status: 0, stdout: `${using}The database is up to date.\n`, stderr: '' });
    expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
  });

  test('starts the database while it runs if no gateway is running', async () => {
    await stop();
    const { status, stdout, stderr } = await runProcess('src/commands/migrate.ts', settings);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(removeLocationNotice(stdout)).toBe(`${using}The database is up to date.\n`);
    expect(existsSync(join(settings.DATA_DIR, 'postgresql/cluster/postmaster.pid'))).toBe(false);
  });
});

/** The commands that change the database of a running gateway. */
const COMMANDS = [
  'src/commands/migrate.ts',
  'src/commands/rotate-keys.ts',
  'src/commands/renew-epoch.ts',
] as const;

describe.each(COMMANDS)('%s', (command) => {
  test('names the database of DATABASE_URL, without the password', async () => {
    const database = await createTestDatabase();
    const { host, pathname, password } = new URL(database.url);
    const ended = await runProcess(command, { ...settings, DATABASE_URL: database.url });
    expect(ended).toMatchObject({ status: 0, stderr: '' });
    expect(ended.stdout).toMatch(`Using the database "${pathname.slice(1)}" at ${host}.\n`);
    expect(password).not.toBe('');
    expect(ended.stdout).not.toContain(password);
    await database.drop();
  });

  test('requires DATABASE_URL in production, and creates nothing', async () => {
    const DATA_DIR = join(folder, 'nothing');
    const { DATABASE_URL: _, ...production } = settingsFor({ url: '' });
    const ended = await runProcess(command, { ...production, NODE_ENV: 'production', DATA_DIR });
    expect(ended).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'The configuration has 1 error:\n  DATABASE_URL: is required with NODE_ENV=production (URL of PostgreSQL 14 or later)\n',
    });
    expect(existsSync(DATA_DIR)).toBe(false);
  });
});

test.each(['src/commands/rotate-keys.ts', 'src/commands/renew-epoch.ts'] as const)(
  '%s never creates an embedded database',
  async (command) => {
    const DATA_DIR = join(folder, 'nothing');
    expect(await runProcess(command, { DATA_DIR })).toEqual({
      status: 1,
      stdout: `Using the embedded database in ${DATA_DIR}.\n`,
      stderr: `DATABASE_URL is not set, and ${DATA_DIR} has no embedded database. Run the command with the settings of the gateway.\n`,
    });
    expect(existsSync(DATA_DIR)).toBe(false);
  },
);

describe('npm run settings', () => {
  const write = (path: string) => runProcess('src/commands/settings.ts', settings, [path]);

  test("writes settings that are valid in production: the development key's key set, and new secrets", async () => {
    const path = join(folder, 'settings.env');
    expect(await write(path)).toEqual({
      status: 0,
      stdout: `Wrote ${path}, which only you can read.\n`,
      stderr: '',
    });
    const text = await readFile(path, 'utf8');
    const written = readSettings(text);
    const { keySet, issuer, audience, encryptionKeys } = readConfig({
      ...written,
      DATABASE_URL: 'postgres://db/gateway',
    });
    expect(written.NODE_ENV).toBe('production');
    expect(encryptionKeys?.size).toBe(1);
    expect(written.POSTGRES_PASSWORD).toMatch(/^[0-9a-f]{48}$/);
    const later = join(folder, 'later.env');
    await write(later);
    const { ENCRYPTION_KEYS, POSTGRES_PASSWORD, AUTH_JWKS } = readSettings(await readFile(later, 'utf8'));
    expect(ENCRYPTION_KEYS).not.toBe(written.ENCRYPTION_KEYS);
    expect(POSTGRES_PASSWORD).not.toBe(written.POSTGRES_PASSWORD);
    expect(AUTH_JWKS).toBe(written.AUTH_JWKS);

    const [, command = ''] = /^#\s+(AUTH_ISSUER=.*)$/m.exec(text) ?? [];
    const tokenSettings = Object.fromEntries(command.split(' ', 2).map((pair) => pair.split('=', 2)));
    const { stdout: printedToken } = await token(['--sub', 'alice', '--org', 'acme'], tokenSettings);
    const keys = keySet.kind === 'local' ? keySet.jwks : expect.unreachable();
    const verified = await jwtVerify(printedToken.trim(), createLocalJWKSet(keys), {
      issuer: issuer ?? '',
      audience: audience ?? '',
    });
    expect(verified.payload).toMatchObject({ sub: 'alice', org_id: 'acme' });
  });

  test('only the owner can read the file, also after npm run vapid:key has been appended', async () => {
    const path = join(folder, 'private.env');
    await write(path);
    const mode = async () => ((await stat(path)).mode & 0o777).toString(8);
    expect(await mode()).toBe('600');
    const { stdout } = await runProcess('src/commands/vapid-key.ts', {});
    // As the shell does for `>>`.
    await appendFile(path, stdout);
    expect(readSettings(await readFile(path, 'utf8'))).toHaveProperty('VAPID_PRIVATE_KEY');
    expect(await mode()).toBe('600');
  });

  test('never overwrites a file', async () => {
    const path = join(folder, 'kept.env');
    await writeFile(path, 'KEPT=1\n');
    expect(await write(path)).toEqual({
      status: 1,
      stdout: '',
      stderr: `${path} exists and was not changed. Its secrets belong to the data that was stored with them: keep it, or move it away.\n`,
    });
    expect(await readFile(path, 'utf8')).toBe('KEPT=1\n');
    const missing = join(folder, 'missing/settings.env');
    expect((await write(missing)).stderr).toBe(
      `${missing} cannot be written: its folder does not exist. Create the folder.\n`,
    );
  });
});
