import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from './support/client.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import {
  type GatewayProcess,
  removeLocationNotice,
  runProcess,
  startGatewayProcess,
} from './support/process.ts';
import { getPort } from './support/proxy.ts';
import { asMember, asPlatform, publish } from './support/records.ts';
import { freePort } from './support/redis.ts';
import { jwks, member } from './support/tokens.ts';

let folder: string;
let dataDir: string;
const running: GatewayProcess[] = [];

beforeAll(async () => {
  folder = await makeFolder();
  dataDir = join(folder, 'data');
});
afterAll(async () => {
  await Promise.all(running.map((gateway) => gateway.stop()));
  await removeFolder(folder);
});

async function start(environment: Record<string, string> = {}): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess({ DATA_DIR: dataDir, LOG_LEVEL: 'error', ...environment });
  running.push(gateway);
  return gateway;
}

const isDatabaseRunning = () => existsSync(join(dataDir, 'postgresql/cluster/postmaster.pid'));

test('npm start prints the URLs and the token command, and a second gateway fails to start', async () => {
  const gateway = await start();
  await gateway.waitForOutput(/npm run -s token/);
  expect(gateway.stdout()).toContain(`GraphiQL  ${gateway.address}/graphql`);
  expect(gateway.stdout()).toContain(`REST      ${gateway.address}/docs`);
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);

  const second = await runProcess('src/main.ts', { DATA_DIR: dataDir, PORT: '0' });
  expect(second).toMatchObject({ status: 1, stdout: '' });
  expect(second.stderr).toMatch(/^A gateway is already running on the data directory .*\n$/);
  expect(second.stderr).toContain(dataDir);

  const ended = await gateway.stop();
  expect(ended).toMatchObject({ status: 0, stderr: '' });
  expect(isDatabaseRunning()).toBe(false);
});

test('a restart preserves all data, including credentials', async () => {
  const settings = { AUTH_JWKS: JSON.stringify(jwks), GRAPHIQL: 'false' };
  const first = await start(settings);
  const { id } = await publish(first, 'alice');
  const pair = { accessToken: 'access-1', refreshToken: 'refresh-1' };
  const store =
    'mutation ($input: StoreEditorSubscriptionInput!) { storeEditorSubscription(input: $input) { __typename } }';
  await asMember(first, 'alice', store, { input: pair });
  // Neither GraphiQL nor the token command is available with these settings.
  const { status, stdout, stderr } = await first.stop();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(
    removeLocationNotice(stdout)
      .split('\n')
      .filter((line) => !line.startsWith('{')),
  ).toEqual([`Listening on ${first.address}`, `REST      ${first.address}/docs`, '']);

  const second = await start({ ...settings, GRAPHIQL: 'true', PUBLIC_URL: 'https://example.test/account/' });
  // The printed URLs are those that clients use, not those behind a proxy.
  await second.waitForOutput(/GraphiQL {2}https:\/\/example\.test\/account\/graphql\n/);
  const { body } = await rest(second, 'GET', '/user/notifications', { token: await member('alice') });
  expect(body.notifications.map((item: { id: string }) => item.id)).toEqual([id]);
  const read = '{ editorCredential(userId: "alice") { accessToken refreshToken } }';
  expect((await asPlatform(second, read)).editorCredential).toEqual(pair);
  expect((await second.stop('SIGINT')).status).toBe(0);
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
