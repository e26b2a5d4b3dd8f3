import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startEmbeddedPostgres } from '../../dev/postgres/embedded-postgres.ts';
import type { DatabaseServer } from '../../src/database/database-server.ts';
import { migrate } from '../../src/database/migrate.ts';
import { rest } from '../support/client.ts';
import { copyCluster } from '../support/cluster.ts';
import { existingDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createInbox } from '../support/inbox.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

let folder: string;
let postgres: DatabaseServer;
let proxy: TestProxy;
let database: TestDatabase;
let gateway: TestGateway;

const start = () => startEmbeddedPostgres({ dataDir: join(folder, 'data'), printLine: () => undefined });
const readPort = (url: string) => Number(new URL(url).port);

beforeAll(async () => {
  folder = await makeFolder();
  await copyCluster(join(folder, 'data'));
  postgres = await start();
  await migrate(postgres.url);
  // The server uses another port at every start, but the gateway's URL is fixed.
  proxy = await startProxy(readPort(postgres.url));
  const url = new URL(postgres.url);
  url.port = String(proxy.port);
  database = existingDatabase(url.href);
  gateway = await startTestGateway({ DATABASE_TIMEOUT_MS: '500' }, database);
});
afterAll(async () => {
  await gateway.close();
  await proxy.close();
  await postgres.stop();
  await removeFolder(folder);
});

test('while PostgreSQL restarts, requests return 500, then succeed again, and no subscriber misses anything', async () => {
  const inbox = createInbox('alice');
  await eventually(() => inbox.subscribe(gateway));
  const token = await member('alice');
  const status = async () => (await rest(gateway, 'GET', '/user/notifications', { token })).status;

  // Like a task runner: retries the same ID until it is accepted.
  const published = Array.from({ length: 30 }, (_none, number) =>
    vi.waitFor(
      () => publish(gateway, 'alice', 'task_failed', { id: `n-${number}`, task: createTask(number) }),
      {
        timeout: 25_000,
        interval: 100,
      },
    ),
  );
  await Promise.all(published.slice(0, 3));
  await postgres.stop();
  expect(await status()).toBe(500);
  postgres = await start();
  proxy.setTarget(readPort(postgres.url));
  await Promise.all(published);

  await eventually(async () => expect(await status()).toBe(200));
  expect(await database.sql('select count(*)::int as count from notification')).toEqual([{ count: 30 }]);
  await inbox.expectToConverge(database);
  inbox.unsubscribe();
});

test('after PostgreSQL was killed, no subscriber misses anything and revisions increase', async () => {
  const inboxes = [createInbox('bob'), createInbox('bob')];
  await Promise.all(inboxes.map((inbox) => inbox.subscribe(gateway)));
  const published = Array.from({ length: 30 }, (_none, number) =>
    vi.waitFor(
      () => publish(gateway, 'bob', 'task_failed', { id: `n-${number}`, task: createTask(number) }),
      {
        timeout: 25_000,
        interval: 100,
      },
    ),
  );
  await Promise.all(published.slice(0, 3));
  const [{ data_directory: folder } = {}] = await database.sql('show data_directory');
  const [pid] = (await readFile(join(String(folder), 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGKILL');
  await Promise.all(published);

  // The last of them may have been stored before it was killed.
  const rows = await eventually(() =>
    database.sql(`select count(*)::int as count from notification where user_id = 'bob'`),
  );
  expect(rows).toEqual([{ count: 30 }]);
  for (const inbox of inboxes) await inbox.expectToConverge(database);
  for (const inbox of inboxes) inbox.unsubscribe();
});

function createTask(number: number) {
  return { id: `task-${number % 7}`, projectId: 'project' };
}
