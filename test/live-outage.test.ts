import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import {
  changeNotifications,
  createInbox,
  type Inbox,
  nextEvent,
  subscribeToNotifications,
} from './support/inbox.ts';
import { startProxy, type TestProxy } from './support/proxy.ts';
import { asPlatform, publish } from './support/records.ts';

const TIMEOUT_MS = 300;

/** Always reaches the database; the changes go through it. */
let writer: TestGateway;
let proxy: TestProxy;
/** Reaches the database through the proxy; the subscribers are here. */
let gateway: TestGateway;
beforeAll(async () => {
  writer = await startTestGateway();
  const url = new URL(writer.database.url);
  proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  gateway = await startTestGateway(
    { DATABASE_URL: url.href, DATABASE_TIMEOUT_MS: String(TIMEOUT_MS) },
    writer.database,
  );
});
afterEach(() => proxy.setState('open'));
afterAll(async () => {
  await gateway.close();
  await proxy.close();
  await writer.close();
});

/** Three subscribers who know everything from the start. */
async function follow(user: string): Promise<Inbox[]> {
  const inboxes = Array.from({ length: 3 }, () => createInbox(user));
  await Promise.all(inboxes.map((inbox) => inbox.subscribe(gateway)));
  return inboxes;
}

async function settle(inboxes: readonly Inbox[]): Promise<void> {
  for (const inbox of inboxes) await inbox.expectToConverge(writer.database);
  for (const inbox of inboxes) inbox.unsubscribe();
}

const seen = (inboxes: readonly Inbox[], count: number) =>
  vi.waitFor(() => expect(inboxes[0]?.revisions.length).toBeGreaterThan(count), { timeout: 20_000 });

/** Many changes, one after another on three lanes; `disturb` is called when each third of them is made. */
async function burst(user: string, disturb: () => Promise<unknown>): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const lanes = Array.from({ length: 3 }, async (_none, lane) => {
      for (let number = 0; number < 5; number += 1)
        await changeNotifications(writer, user, round * 15 + lane * 5 + number);
    });
    await Promise.all([...lanes, disturb()]);
  }
}

const sessions = (condition: string, action = 'pid') =>
  writer.database.sql(
    `select ${action} from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${condition}`,
  );
const listening = `(query ilike 'listen %' or query = 'select 1')`;

test('the listening connection is ended again and again in a burst: every subscriber ends with what the database holds', async () => {
  const inboxes = await follow('listening');
  await publish(writer, 'listening');
  await seen(inboxes, 0);
  let cut = 0;

  await burst('listening', async () => {
    const ended = await eventually(async () => {
      const rows = await sessions(listening, 'pg_terminate_backend(pid, 5000)');
      expect(rows.length).toBeGreaterThan(0);
      return rows;
    });
    cut += ended.length;
  });

  expect(cut).toBeGreaterThanOrEqual(3);
  await settle(inboxes);
});

test('every session is ended in a burst, as at a restart of PostgreSQL: likewise', async () => {
  const inboxes = await follow('restart');
  await publish(writer, 'restart');
  await seen(inboxes, 0);
  for (let number = 0; number < 12; number += 1) {
    const working = changeNotifications(writer, 'restart', number).catch(() => undefined);
    if (number % 4 === 1) await sessions('true', 'pg_terminate_backend(pid, 5000)');
    await working;
  }
  await vi.waitFor(() => publish(writer, 'restart'), { timeout: 10_000 });

  await settle(inboxes);
});

test.each([
  ['cuts every connection and refuses new ones', 'refuse'],
  ['falls silent without a word', 'stall'],
] as const)('a database that %s in a burst, and comes back: likewise', async (_what, state) => {
  const inboxes = await follow(state);
  await publish(writer, state);
  await seen(inboxes, 0);

  await burst(state, () => proxy.setState(state));
  await proxy.setState('open');

  await settle(inboxes);
});

test('a client can subscribe as soon as the database is back', async () => {
  await proxy.setState('refuse');
  await expect(subscribeToNotifications(gateway, 'early')).rejects.toThrow('500');
  await proxy.setState('open');
  const stream = await vi.waitFor(() => subscribeToNotifications(gateway, 'early'), { timeout: 10_000 });
  await publish(writer, 'early', 'task_failed', { id: 'n' });

  expect((await nextEvent(stream)).notification.id).toBe('n');
  stream.close();
});

test('a user who is deleted while the gateway cannot listen is found out afterwards, also one who came back', async () => {
  const users = ['leaver', 'returner'];
  for (const user of users) for (let n = 0; n < 3; n += 1) await publish(writer, user);
  const streams = await Promise.all(users.map((user) => subscribeToNotifications(gateway, user)));
  await proxy.setState('refuse');
  for (const userId of users) {
    await asPlatform(
      writer,
      'mutation ($userId: ID!) { deleteUser(input: { userId: $userId }) { deleted } }',
      {
        userId,
      },
    );
  }
  await publish(writer, 'returner');
  await proxy.setState('open');

  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(['complete', 'complete']);
});

test('a gateway stops in bounded time while its database is silent', async () => {
  const url = new URL(writer.database.url);
  url.port = String(proxy.port);
  const stopping = await startTestGateway(
    { DATABASE_URL: url.href, DATABASE_TIMEOUT_MS: String(TIMEOUT_MS) },
    writer.database,
  );
  const stream = await subscribeToNotifications(stopping, 'stopping');
  await proxy.setState('stall');

  await stopping.close();

  expect(await stream.ended).toBe('complete');
});

test('whatever else is sent on the channel disturbs nobody', async () => {
  const stream = await subscribeToNotifications(gateway, 'steady');
  for (const payload of ['', 'x', 'null', '{}', '{"user":1}', '{"user":"steady","topic":"weather"}']) {
    await writer.database.sql('select pg_notify($1, $2)', ['account_changes', payload]);
  }
  await publish(writer, 'steady', 'task_failed', { id: 'n' });

  expect((await nextEvent(stream)).notification.id).toBe('n');
  stream.close();
});
