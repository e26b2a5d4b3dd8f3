import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { changeNotifications, createInbox, currentCursor, type Inbox } from '../support/inbox.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';

/* Several gateways on one database. The first one is a process, so that it can be killed. */

let folder: string;
let database: TestDatabase;
let settings: Record<string, string>;
let first: GatewayProcess;
let second: TestGateway;
let third: TestGateway;
/** A client of the first gateway. */
let bob: Inbox;

beforeAll(async () => {
  folder = await makeFolder();
  database = await createTestDatabase();
  settings = { ...settingsFor(database), DATA_DIR: folder, LOG_LEVEL: 'error' };
  [first, second, third] = await Promise.all([
    startGatewayProcess(settings),
    startTestGateway(settings, database),
    startTestGateway(settings, database),
  ]);
  bob = createInbox('bob', await currentCursor(first, 'bob'));
  await bob.subscribe(first);
  await publish(first, 'bob');
  await bob.expectToConverge(database);
});
afterAll(async () => {
  await first.stop('SIGKILL');
  await Promise.all([second, third].map((gateway) => gateway.close()));
  await database.drop();
  await removeFolder(folder);
});

test('subscribers of all gateways receive changes of any gateway, and miss nothing if one is killed during a burst', async () => {
  const gateways = [first, second, third];
  const inboxes = gateways.map(() => createInbox('alice'));
  await Promise.all(inboxes.map((inbox, index) => inbox.subscribe(gateways[index] ?? first)));
  for (const gateway of gateways) await publish(gateway, 'alice');
  await Promise.all(inboxes.map((inbox) => inbox.expectToConverge(database)));

  const [survivor = createInbox('alice')] = inboxes;
  let moved: Promise<unknown> = Promise.resolve();
  const burst = gateways.map(async (gateway, lane) => {
    for (let number = 0; number < 30; number += 1) {
      if (gateway === first && number === 10) {
        moved = first.stop('SIGKILL').then(() => survivor.subscribe(second));
      }
      // Whether the killed gateway committed a change is visible in the database only.
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

test('a disconnected client resumes with its cursor at any gateway, also after restarts', async () => {
  await first.stop('SIGKILL');
  bob.unsubscribe();
  for (let number = 0; number < 5; number += 1) await changeNotifications(second, 'bob', number);
  await bob.subscribe(second);
  await bob.expectToConverge(database);
  bob.unsubscribe();

  first = await startGatewayProcess(settings);
  for (let number = 5; number < 10; number += 1) await changeNotifications(first, 'bob', number);
  await bob.subscribe(first);

  await bob.expectToConverge(database);
  bob.unsubscribe();
});

test('a gateway with open subscriptions exits on SIGTERM, and completes them', async () => {
  const streams = await Promise.all([1, 2, 3].map(() => createInbox('carol').subscribe(first)));

  const { status, stderr } = await first.stop();

  expect([status, stderr]).toEqual([0, '']);
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(Array(3).fill('complete'));
});
