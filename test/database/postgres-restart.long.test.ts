import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startEmbeddedPostgres } from '../../dev/postgres/embedded-postgres.ts';
import type { DatabaseServer } from '../../src/database/database-server.ts';
import { migrate } from '../../src/database/migrate.ts';
import { existingDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { copyCluster, makeFolder, removeFolder } from '../support/folder.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createInbox, type Inbox } from '../support/inbox.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { publish } from '../support/records.ts';

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

/** Publishes like a task runner, which retries the same ID until it is accepted. Returns when three are stored. */
async function startPublishing(user: string) {
  const published = Array.from({ length: 30 }, (_none, number) => {
    const task = { id: `task-${number % 7}`, projectId: 'project' };
    const send = () => publish(gateway, user, 'task_failed', { id: `n-${number}`, task });
    return vi.waitFor(send, { timeout: 25_000, interval: 100 });
  });
  await Promise.all(published.slice(0, 3));
  return { all: Promise.all(published) };
}

/** Expects that everything is stored, which the server may first have to recover, and was shown. */
async function expectAll(user: string, inboxes: readonly Inbox[]): Promise<void> {
  const count = 'select count(*)::int as count from notification where user_id = $1';
  expect(await eventually(() => database.sql(count, [user]))).toEqual([{ count: 30 }]);
  for (const inbox of inboxes) await inbox.expectToConverge(database);
  for (const inbox of inboxes) inbox.unsubscribe();
}

test('while PostgreSQL restarts, requests return 500, then succeed again, and no subscriber misses anything', async () => {
  const inbox = createInbox('alice');
  await eventually(() => inbox.subscribe(gateway));
  const status = async () => (await gateway.as('alice').rest.get('/user/notifications')).status;

  const publishing = await startPublishing('alice');
  await postgres.stop();
  expect(await status()).toBe(500);
  postgres = await start();
  proxy.setTarget(readPort(postgres.url));
  await publishing.all;

  await eventually(async () => expect(await status()).toBe(200));
  await expectAll('alice', [inbox]);
});

test('after PostgreSQL was killed, no subscriber misses anything and revisions increase', async () => {
  const inboxes = [createInbox('bob'), createInbox('bob')];
  await Promise.all(inboxes.map((inbox) => inbox.subscribe(gateway)));
  const publishing = await startPublishing('bob');
  const [{ data_directory: folder } = {}] = await database.sql('show data_directory');
  const [pid] = (await readFile(join(String(folder), 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGKILL');
  await publishing.all;
  await expectAll('bob', inboxes);
});
