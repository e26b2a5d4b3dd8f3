import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Announcements, listenTo } from './support/announcements.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { type EditingProxy, startEditingProxy } from './support/editing-proxy.ts';
import { eventually } from './support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from './support/gateway.ts';
import { change, createInbox, nextEvent, watchEvents } from './support/inbox.ts';
import { scrape } from './support/metrics.ts';
import { startGatewayProcess } from './support/process.ts';
import { asPlatform, payloads, publish } from './support/records.ts';
import { statementsOf } from './support/statements.ts';

/* Announcements are hints: without them every subscriber still ends with what the database holds, only later. */

const SWEEP_MS = 500;

let database: TestDatabase;
let gateway: TestGateway;
let announced: Announcements;
let proxies: EditingProxy[];
beforeAll(async () => {
  proxies = [];
  database = await createTestDatabase();
  gateway = await startTestGateway({ LIVE_SWEEP_MS: String(SWEEP_MS) }, database);
  announced = await listenTo(database);
});
afterAll(async () => {
  await announced.close();
  await gateway.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await database.drop();
});

/** The address of the database behind a proxy that looks at what is sent. */
async function behindProxy(edit: (text: string) => string | 'hold'): Promise<string> {
  const url = new URL(database.url);
  const proxy = await startEditingProxy(Number(url.port), (sent) => {
    const text = sent.toString('latin1');
    const edited = edit(text);
    if (edited === 'hold') return 'hold';
    return edited === text ? sent : Buffer.from(edited, 'latin1');
  });
  proxies.push(proxy);
  url.port = String(proxy.port);
  return url.href;
}

test('a gateway that is killed between a commit and its announcement delays the event, and loses none', async () => {
  // What it announces never reaches PostgreSQL; everything else does.
  const url = await behindProxy((text) => (text.includes('pg_notify') ? 'hold' : text));
  const dying = await startGatewayProcess({
    ...settingsFor(database),
    DATABASE_URL: url,
    LOG_LEVEL: 'error',
  });
  const inboxes = [createInbox('killed'), createInbox('killed')];
  await Promise.all(inboxes.map((inbox) => inbox.follow(gateway)));

  for (let number = 0; number < 8; number += 1) await change(dying, 'killed', number);
  await dying.stop('SIGKILL');

  for (const inbox of inboxes) await inbox.settles(database);
  for (const inbox of inboxes) inbox.leave();
  expect(announced.changes().filter(([user]) => user === 'killed')).toEqual([]);
});

test('the announcing session is ended again and again in a burst: no subscriber of another gateway misses anything', async () => {
  const writer = await startTestGateway({}, database);
  const inbox = createInbox('ended');
  await inbox.follow(gateway);
  let ended = 0;
  for (let number = 0; number < 30; number += 1) {
    await change(writer, 'ended', number);
    if (number % 5 !== 2) continue;
    const rows = await database.sql(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and query like 'begin; set local%'`,
    );
    ended += rows.length;
  }

  expect(ended).toBeGreaterThan(3);
  await inbox.settles(database);
  inbox.leave();
  await writer.close();
});

test('where announcements do not arrive a gateway says so once, stays ready, and delivers by sweeping', async () => {
  // As with PgBouncer in transaction mode: `LISTEN` succeeds, and nothing is ever heard.
  const url = await behindProxy((text) => text.replace('listen account_changes', 'listen account_changed'));
  const deaf = await startTestGateway({ DATABASE_URL: url, LIVE_SWEEP_MS: String(SWEEP_MS) }, database);
  const warnings = () => deaf.logLines().filter((line) => line.includes('announcements do not arrive'));
  await eventually(() => expect(warnings()).toHaveLength(1));

  const ready = await fetch(`${deaf.address}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({ status: 'ready', checks: { live_events: 'are not announced' } });
  expect((await scrape(deaf)).sum('gateway_listener_up')).toBe(0);

  const stream = await watchEvents(deaf, 'deaf');
  await publish(gateway, 'deaf', 'task_failed', { id: 'of another' });
  expect((await nextEvent(stream)).notification.id).toBe('of another');
  await publish(deaf, 'deaf', 'task_failed', { id: 'of its own' });
  expect((await nextEvent(stream)).notification.id).toBe('of its own');
  stream.close();
  expect(warnings()).toHaveLength(1);
  await deaf.close();
});

test('the changes of one request are announced together', async () => {
  const users = Array.from({ length: 40 }, (_, index) => `together-${index}`);
  const before = announced.payloads();
  const query =
    'mutation ($input: PublishNotificationsInput!) { publishNotifications(input: $input) { results { created } } }';
  const notifications = users.map((userId) => ({
    userId,
    task: { id: 'task-1', projectId: 'project-1' },
    title: 'A title',
    payload: payloads.task_failed,
  }));
  await asPlatform(gateway, query, { input: { notifications } });
  const ofTest = () => announced.changes().filter(([user]) => users.includes(user));
  await eventually(() => expect(ofTest()).toHaveLength(users.length));
  // A few messages of the gateway's own, which carry no changes, may come between.
  expect(announced.payloads() - before).toBeLessThan(5);
});

test('subscribers that are woken together are read together', async () => {
  const users = Array.from({ length: 40 }, (_, index) => `woken-${index}`);
  const streams = await Promise.all(users.map((user) => watchEvents(gateway, user)));
  const statements = await statementsOf(async () => {
    // Stored by somebody who does not announce it.
    await database.sql(
      `with users as (
         insert into user_revision (user_id, notifications) select unnest($1::text[]), 1 returning user_id)
       insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                                 occurred_at, created_at, updated_at)
       select user_id, 'n', 1, 'task_failed', 'active', 't', 'p', 'A title', '{"taskStatus":"errored"}',
              now(), now(), now() from users`,
      [users],
    );
    for (const stream of streams) expect((await nextEvent(stream)).notification.id).toBe('n');
  });

  const isOfUsers = (value: unknown) => Array.isArray(value) && value.some((item) => users.includes(item));
  const reads = statements.filter(({ text, values }) => text.startsWith('select') && values.some(isOfUsers));
  // Streams whose first read comes after the insert are not woken: they read on their own.
  expect(reads.filter(({ text }) => text.includes('join')).length).toBeLessThanOrEqual(4);
  expect(reads.length).toBeLessThanOrEqual(10);
  for (const stream of streams) stream.close();
});

test('a deletion that was not announced ends the streams of the user', async () => {
  await publish(gateway, 'erased');
  const stream = await watchEvents(gateway, 'erased');
  await database.sql(`delete from user_revision where user_id = 'erased'`);
  expect(await vi.waitFor(() => stream.ended, { timeout: 10_000 })).toBe('complete');
});
