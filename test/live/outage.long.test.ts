import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import {
  changeNotifications,
  createInbox,
  type Inbox,
  nextEvent,
  subscribeToNotifications,
} from '../support/inbox.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { deleteUser, publish } from '../support/records.ts';

const TIMEOUT_MS = 300;

/** Always reaches the database; all changes are made through it. */
const writer = useGateway();
let proxy: TestProxy;
/** Reaches the database through the proxy; all clients subscribe here. */
let gateway: TestGateway;
beforeAll(async () => {
  proxy = await startProxy(Number(new URL(writer.database.url).port));
  gateway = await startBehindProxy();
});
afterEach(() => proxy.setState('open'));
afterAll(async () => {
  await gateway.close();
  await proxy.close();
});

function startBehindProxy(): Promise<TestGateway> {
  const url = new URL(writer.database.url);
  url.port = String(proxy.port);
  const settings = { DATABASE_URL: url.href, DATABASE_TIMEOUT_MS: String(TIMEOUT_MS) };
  return startTestGateway(settings, writer.database);
}

/** Opens three subscriptions, of which one has received an event. */
async function subscribeInboxes(user: string): Promise<Inbox[]> {
  const inboxes = Array.from({ length: 3 }, () => createInbox(user));
  await Promise.all(inboxes.map((inbox) => eventually(() => inbox.subscribe(gateway))));
  await publish(writer, user);
  await eventually(() => expect(inboxes[0]?.revisions.length).toBeGreaterThan(0));
  return inboxes;
}

/** Makes many changes in three concurrent sequences, and calls `disturb` during each third of them. */
async function burst(user: string, disturb: () => Promise<unknown>): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const lanes = Array.from({ length: 3 }, async (_none, lane) => {
      // A change may fail if the sessions of the writer are terminated too.
      for (let number = 0; number < 5; number += 1)
        await changeNotifications(writer, user, round * 15 + lane * 5 + number).catch(() => undefined);
    });
    await Promise.all([...lanes, disturb()]);
  }
}

/** Subscribes once the gateway reaches its database: on a busy machine its short timeout may pass before. */
const subscribeWhenReachable = (target: TestGateway, user: string) =>
  eventually(() => subscribeToNotifications(target, user));

/** Terminates sessions, at least one. */
const terminateSessions = (condition: string) =>
  eventually(async () => {
    const ended = await writer.database.sql(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and ${condition}`,
    );
    expect(ended.length).toBeGreaterThan(0);
  });
const LISTENING = `(query ilike 'listen %' or query = 'select 1' or query like 'begin; set local%')`;

test.each<[what: string, disturb: () => Promise<unknown>]>([
  ['the listening connection is terminated repeatedly', () => terminateSessions(LISTENING)],
  ['all sessions are terminated, as at a restart of PostgreSQL', () => terminateSessions('true')],
  ['the database closes every connection and refuses new ones', () => proxy.setState('refuse')],
  ['the database stops replying', () => proxy.setState('stall')],
])('subscribers miss nothing if, during a burst, %s', async (user, disturb) => {
  const inboxes = await subscribeInboxes(user);

  await burst(user, disturb);
  await proxy.setState('open');
  await eventually(() => publish(writer, user));

  for (const inbox of inboxes) await inbox.expectToConverge(writer.database);
  for (const inbox of inboxes) inbox.unsubscribe();
  const stored = await writer.database.sql('select from notification where user_id = $1', [user]);
  expect(stored.length).toBeGreaterThan(20);
});

test('clients can subscribe as soon as the database is reachable again', async () => {
  await proxy.setState('refuse');
  await expect(subscribeToNotifications(gateway, 'early')).rejects.toThrow('500');
  await proxy.setState('open');
  const stream = await subscribeWhenReachable(gateway, 'early');
  await publish(writer, 'early', 'task_failed', { id: 'n' });

  expect((await nextEvent(stream)).notification.id).toBe('n');
  stream.close();
});

test('streams of users deleted while the gateway could not listen are ended afterwards, even if a user exists again', async () => {
  const users = ['deleted', 'recreated'];
  for (const user of users) for (let n = 0; n < 3; n += 1) await publish(writer, user);
  const streams = await Promise.all(users.map((user) => subscribeWhenReachable(gateway, user)));
  await proxy.setState('refuse');
  for (const userId of users) await deleteUser(writer, userId);
  await publish(writer, 'recreated');
  await proxy.setState('open');

  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(['complete', 'complete']);
});

test('a gateway stops within the timeout while its database does not reply', async () => {
  const stopping = await startBehindProxy();
  const stream = await subscribeWhenReachable(stopping, 'stopping');
  await proxy.setState('stall');

  await stopping.close();

  expect(await stream.ended).toBe('complete');
});

test('ignores invalid messages on the announcement channel', async () => {
  const stream = await subscribeWhenReachable(gateway, 'steady');
  for (const payload of ['', 'x', 'null', '{}', '{"user":1}', '{"user":"steady","topic":"weather"}']) {
    await writer.database.sql('select pg_notify($1, $2)', ['account_changes', payload]);
  }
  await publish(writer, 'steady', 'task_failed', { id: 'n' });

  expect((await nextEvent(stream)).notification.id).toBe('n');
  stream.close();
});
