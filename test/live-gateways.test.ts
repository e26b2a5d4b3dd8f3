import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { settingsFor } from './support/gateway.ts';
import { changeNotifications, createInbox, currentCursor } from './support/inbox.ts';
import { type GatewayProcess, startGatewayProcess } from './support/process.ts';
import { publish } from './support/records.ts';

/* Several gateways, each a process of its own, on one database. */

let folder: string;
let database: TestDatabase;
let settings: Record<string, string>;
let first: GatewayProcess;
let second: GatewayProcess;
let third: GatewayProcess;

beforeAll(async () => {
  folder = await makeFolder();
  database = await createTestDatabase();
  settings = { ...settingsFor(database), DATA_DIR: folder, LOG_LEVEL: 'error' };
  [first, second, third] = await Promise.all([
    startGatewayProcess(settings),
    startGatewayProcess(settings),
    startGatewayProcess(settings),
  ]);
});
afterAll(async () => {
  await Promise.all([first, second, third].map((gateway) => gateway.stop('SIGKILL')));
  await database.drop();
  await removeFolder(folder);
});

test('what changes through one gateway reaches the subscribers of all; one that is killed in a burst loses nobody anything', async () => {
  const everywhere = [first, second, third];
  const inboxes = everywhere.map(() => createInbox('alice'));
  await Promise.all(inboxes.map((inbox, index) => inbox.subscribe(everywhere[index] ?? first)));
  for (const gateway of everywhere) await publish(gateway, 'alice');
  await Promise.all(inboxes.map((inbox) => inbox.expectToConverge(database)));

  const [survivor = createInbox('alice')] = inboxes;
  let moved: Promise<unknown> = Promise.resolve();
  const burst = everywhere.map(async (gateway, lane) => {
    for (let number = 0; number < 30; number += 1) {
      if (gateway === first && number === 10) {
        moved = first.stop('SIGKILL').then(() => survivor.subscribe(second));
      }
      // Whether a change was made through the one that dies, only the database knows.
      await changeNotifications(gateway, 'alice', number * 3 + lane).catch((error: unknown) => {
        if (gateway !== first) throw error;
      });
    }
  });
  await Promise.all(burst);
  await moved;

  for (const inbox of inboxes) await inbox.expectToConverge(database);
  for (const inbox of inboxes) inbox.unsubscribe();
});

test('a client that was away while gateways came and went goes on with its cursor at any of them', async () => {
  const inbox = createInbox('bob', await currentCursor(second, 'bob'));
  await inbox.subscribe(second);
  await publish(second, 'bob');
  await inbox.expectToConverge(database);
  await second.stop('SIGKILL');
  inbox.unsubscribe();

  second = await startGatewayProcess(settings);
  for (let number = 0; number < 5; number += 1) await changeNotifications(second, 'bob', number);
  await inbox.subscribe(second);

  await inbox.expectToConverge(database);
  inbox.unsubscribe();
});

test('a gateway with open subscriptions stops by itself when it is told to, and ends them properly', async () => {
  const streams = await Promise.all([1, 2, 3].map(() => createInbox('carol').subscribe(third)));

  const { status, stderr } = await third.stop();

  expect([status, stderr]).toEqual([0, '']);
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(Array(3).fill('complete'));
});
