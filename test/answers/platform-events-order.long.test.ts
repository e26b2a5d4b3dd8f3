import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAs } from '../support/as.ts';
import { createTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/process.ts';
import { deleteUser } from '../support/records.ts';
import { checkFeed } from './feed-workload.ts';
import { followFeed, latestCursor, readWholeFeed, takeEvent } from './platform-feed.ts';

/* The order of the platform feed while transactions commit out of order and gateways are killed. */

let database: TestDatabase;
let settings: Record<string, string>;
let gateway: TestGateway;
beforeAll(async () => {
  database = await createTestDatabase();
  settings = { ...settingsFor(database), LIVE_SWEEP_MS: '500', LOG_LEVEL: 'error' };
  gateway = await startTestGateway(settings, database);
});
afterAll(async () => {
  await gateway.close();
  await database.drop();
});

const store = (userId: string, at: { address: string } = gateway) =>
  createAs(at)(userId).connectEditor({ accessToken: 'a', refreshToken: 'r' });

async function begin(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('begin');
  return client;
}

async function end(client: pg.Client): Promise<void> {
  await client.query('commit');
  await client.end();
}

const insert = (client: pg.Client, userId: string) =>
  client.query(`insert into platform_event (user_id, type, at) values ($1, 'user.deleted', now())`, [userId]);

test('an event that is committed after later ones is delivered after them, and they do not wait for it', async () => {
  const after = await latestCursor(gateway);
  const stream = await followFeed(gateway, { after });
  const [slow, slower] = [await begin(), await begin()];
  await insert(slower, 'slower');
  await insert(slow, 'slow');

  await store('fast');
  expect((await takeEvent(stream)).userId).toBe('fast');
  await end(slow);
  expect((await takeEvent(stream)).userId).toBe('slow');
  await end(slower);
  expect((await takeEvent(stream)).userId).toBe('slower');

  const events = await readWholeFeed(gateway, { after });
  expect(events.map(({ userId }) => userId)).toEqual(['fast', 'slow', 'slower']);
  stream.close();
});

test('a deletion of a user that takes long delays only the events of that user', async () => {
  const after = await latestCursor(gateway);
  const deletion = await begin();
  await store('leaving');
  await eventually(async () => expect(await readWholeFeed(gateway, { after })).toHaveLength(1));
  // Like an event that has no position yet when its user is deleted.
  await database.sql(`update platform_event set position = null where user_id = 'leaving'`);
  await deletion.query(`delete from platform_event where user_id = 'leaving'`);

  await store('staying');

  await eventually(async () => expect(await readWholeFeed(gateway, { after })).toHaveLength(1));
  expect(await waitingSessions(database)).toBe(0);
  await end(deletion);
  await deleteUser(gateway, 'leaving');
  const readUsers = async () => (await readWholeFeed(gateway, { after })).map(({ userId }) => userId);
  await eventually(async () => expect(await readUsers()).toEqual(['staying', 'leaving']));
});

test('a subscriber resumes at another gateway, also after a restart, and wakes for changes of any gateway', async () => {
  const first = await startGatewayProcess(settings);
  const stream = await followFeed(first, { after: await latestCursor(first) });
  await store('moving', gateway);
  const { cursor } = await takeEvent(stream);
  await store('moving', first);
  const { cursor: second } = await takeEvent(stream);
  await first.stop('SIGKILL');
  await store('moving', gateway);
  await deleteUser(gateway, 'others');

  const restarted = await startGatewayProcess(settings);
  const [resumed, elsewhere] = [
    await followFeed(restarted, { after: cursor }),
    await followFeed(gateway, { after: second }),
  ];
  expect((await takeEvent(resumed)).cursor).toBe(second);
  const third = await takeEvent(resumed);
  expect(await takeEvent(elsewhere)).toEqual(third);
  await store('moving', restarted);
  expect(await takeEvent(elsewhere)).toEqual(await takeEvent(resumed));
  elsewhere.close();
  await restarted.stop();
});

test('an event whose gateway was killed after the commit gets its position from another gateway', async () => {
  const after = await latestCursor(gateway);
  const stream = await followFeed(gateway, { after });
  // Like a commit of a process that then stops: nothing announces it.
  await database.sql(
    `insert into platform_event (user_id, type, at) values ('orphan', 'user.deleted', now())`,
  );

  expect((await takeEvent(stream)).userId).toBe('orphan');
  stream.close();
});

test('all readers get every committed event exactly once and in one order, beside 32 writers and killed gateways', async () => {
  await checkFeed(gateway, settings, { writers: 32, kills: 12 });
}, 300_000);
