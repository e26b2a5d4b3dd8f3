import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { version } from '../../src/version.ts';
import { createAs } from '../support/as.ts';
import { rest } from '../support/client.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import {
  type GatewayProcess,
  removeLocationNotice,
  runProcess,
  startGatewayProcess,
} from '../support/process.ts';
import { freePort, getPort } from '../support/servers.ts';
import { jwks, member, platform } from '../support/tokens.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

let folder: string;
let dataDir: string;
const running: GatewayProcess[] = [];

beforeAll(async () => {
  folder = await makeFolder();
  dataDir = join(folder, "alice's data");
});
afterAll(async () => {
  await Promise.all(running.map((gateway) => gateway.stop()));
  await removeFolder(folder);
});

async function start(environment: Record<string, string>): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess({ DATA_DIR: dataDir, ...environment });
  running.push(gateway);
  return gateway;
}

const isDatabaseRunning = () => existsSync(join(dataDir, 'postgresql/cluster/postmaster.pid'));
const listIds = async (gateway: GatewayProcess, token: string): Promise<string[]> => {
  const { body } = await rest(gateway, 'GET', '/user/notifications', { token });
  return body.notifications.map(({ id }: { id: string }) => id);
};

const pair = { accessToken: 'access-1', refreshToken: 'refresh-1' };
/** Alice's notifications before the restart. */
let ids: string[];

describe('the first start', () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await start({
      AUTH_ISSUER: 'http://localhost/?a&b',
      AUTH_ORG_CLAIM: 'organization',
      AUTH_SCOPE_CLAIMS: 'scp scope',
      AUTH_SCOPE_PREFIX: 'gateway/',
      AUTH_REQUIRE_SCOPES: 'true',
      RATE_LIMIT_READ_PER_MINUTE: '10',
      LOG_LEVEL: 'warn',
    });
  });

  /** Runs a printed command as if pasted into a terminal. */
  async function paste(name: string) {
    const command = await gateway.waitForOutput(new RegExp(`^${name} +(.*)$`, 'm'));
    const { PATH, HOME } = process.env;
    return promisify(execFile)('sh', ['-c', command], { cwd: repository, env: { PATH, HOME } });
  }

  test('prints URLs, and commands that work with the current settings', { timeout: 60_000 }, async () => {
    await gateway.waitForOutput(/^Records /m);
    expect(gateway.stdout()).toContain(`REST      ${gateway.address}/docs#key=`);
    const { stdout, stderr } = await paste('A token');
    expect(stderr).toBe('');
    const token = stdout.trim();
    const stored = await rest(gateway, 'PUT', '/editor/auth/subscription', { token, body: pair });
    expect(stored.status).toBe(200);

    await paste('Records');
    ids = await listIds(gateway, token);
    expect(ids.length).toBeGreaterThan(0);
  });

  test('logs a warning for a misspelled setting', async () => {
    const line = await gateway.waitForOutput(/^(\{.*RATE_LIMIT_READ_PER_MINUTE.*\})$/m);
    expect(JSON.parse(line)).toMatchObject({
      level: 40,
      msg: 'RATE_LIMIT_READ_PER_MINUTE: is not a setting and is ignored; did you mean RATE_LIMIT_READS_PER_MINUTE?',
    });
  });

  test('prevents the start of a second gateway on the same data directory', async () => {
    const second = await runProcess('src/main.ts', { DATA_DIR: dataDir, PORT: '0' });
    expect(second).toMatchObject({ status: 1, stdout: '' });
    expect(second.stderr).toMatch(/^A gateway or command is already using the data directory .*\n$/);
    expect(second.stderr).toContain(dataDir);
  });

  test('SIGTERM stops the gateway and the database', async () => {
    expect(await gateway.stop()).toMatchObject({ status: 0, stderr: '' });
    expect(isDatabaseRunning()).toBe(false);
  });
});

describe('a restart', () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await start({
      AUTH_JWKS: JSON.stringify(jwks),
      GRAPHIQL: 'false',
      LOG_LEVEL: 'silent',
    });
  });

  test('preserves all data, including credentials', async () => {
    expect(await listIds(gateway, await member('alice'))).toEqual(ids);
    expect(await createAs(gateway)(platform).editorCredential({ userId: 'alice' })).toMatchObject(pair);
  });

  test('has printed neither GraphiQL nor commands, which are not available, but audit lines', async () => {
    const { status, stdout, stderr } = await gateway.stop('SIGINT');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const lines = removeLocationNotice(stdout).split('\n');
    expect(lines.filter((line) => !line.startsWith('{'))).toEqual([
      `Listening on ${gateway.address}`,
      `Version   ${version}`,
      "Scopes    scope, scp; a token without them, or with sign-in scopes only, has its user's account",
      `REST      ${gateway.address}/docs`,
      '',
    ]);
    const logged = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    expect(logged).toEqual([
      expect.objectContaining({ audit: 'editor_credential.read', by: 'platform-service', user: 'alice' }),
    ]);
  });
});

test('an invalid configuration prints every error, exits with status 1 and starts nothing', async () => {
  const untouched = join(folder, 'untouched');
  const ended = await runProcess('src/main.ts', { DATA_DIR: untouched, PORT: 'http', GRAPHIQL: 'yes' });
  expect(ended).toMatchObject({ status: 1, stdout: '' });
  expect(ended.stderr).toBe(
    'The configuration has 2 errors:\n' +
      '  PORT: must be a whole number from 0 to 65535\n' +
      '  GRAPHIQL: must be true or false\n',
  );
  expect(existsSync(untouched)).toBe(false);
});

test('an occupied port exits with a fix and without a Redis warning, and stops the embedded database', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const port = String(getPort(other));
  const unreachable = `redis://127.0.0.1:${await freePort()}`;
  const ended = await runProcess('src/main.ts', {
    DATA_DIR: dataDir,
    PORT: port,
    GRAPHIQL: 'false',
    REDIS_URL: unreachable,
  });
  other.close();
  expect(ended.status).toBe(1);
  expect(removeLocationNotice(ended.stdout)).toBe('');
  expect(ended.stderr).toBe(
    `Port ${port} of 127.0.0.1 is in use. Stop the process that uses it, or set PORT to another port (0 selects a free one).\n`,
  );
  expect(isDatabaseRunning()).toBe(false);
});
