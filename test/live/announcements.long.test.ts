import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertRecords } from '../support/bulk-records.ts';
import { type Announcements, recordAnnouncements } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, useGateway } from '../support/gateway.ts';
import { changeNotifications, createInbox, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { scrape } from '../support/metrics.ts';
import { startGatewayProcess } from '../support/process.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { publish } from '../support/records.ts';
import { recordStatements } from '../support/statements.ts';

/* Announcements are hints. Without them every subscriber still receives all changes, only later. */

const SWEEP_MS = 500;

const gateway = useGateway({ LIVE_SWEEP_MS: String(SWEEP_MS) });
let announced: Announcements;
const proxies: TestProxy[] = [];
beforeAll(async () => {
  announced = await recordAnnouncements(gateway.database);
});
afterAll(async () => {
  await announced.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

/** Returns the database URL of a proxy that edits what the gateway sends. */
async function startProxyUrl(edit: (text: string) => string | 'hold'): Promise<string> {
  const url = new URL(gateway.database.url);
  const proxy = await startProxy(Number(url.port), (sent) => {
    const text = sent.toString('latin1');
    const edited = edit(text);
    if (edited === 'hold') return 'hold';
    return edited === text ? sent : Buffer.from(edited, 'latin1');
  });
  proxies.push(proxy);
  url.port = String(proxy.port);
  return url.href;
}

test('an event is delayed but not lost if the gateway is killed between commit and announcement', async () => {
  // The gateway's announcements never reach PostgreSQL; everything else does.
  const url = await startProxyUrl((text) => (text.includes('pg_notify') ? 'hold' : text));
  const settings = settingsFor(gateway.database);
  const killed = await startGatewayProcess({ ...settings, DATABASE_URL: url, LOG_LEVEL: 'error' });
  const inboxes = [createInbox('killed'), createInbox('killed')];
  await Promise.all(inboxes.map((inbox) => inbox.subscribe(gateway)));

  for (let number = 0; number < 8; number += 1) await changeNotifications(killed, 'killed', number);
  await killed.stop('SIGKILL');

  for (const inbox of inboxes) await inbox.expectToConverge(gateway.database);
  for (const inbox of inboxes) inbox.unsubscribe();
  expect(announced.changes().filter(([user]) => user === 'killed')).toEqual([]);
});

test('if announcements are not arriving, a gateway logs it once, stays ready, and delivers events by sweeping', async () => {
  // Like PgBouncer in transaction mode: `LISTEN` succeeds, but no notification arrives.
  const url = await startProxyUrl((text) => text.replace('listen account_changes', 'listen account_changed'));
  const unannounced = await startTestGateway(
    { DATABASE_URL: url, LIVE_SWEEP_MS: String(SWEEP_MS) },
    gateway.database,
  );
  const warnings = () =>
    unannounced.logLines().filter((line) => line.includes('announcements are not arriving'));
  await eventually(() => expect(warnings()).toHaveLength(1));

  const ready = await fetch(`${unannounced.address}/readyz`);
  const checks = { live_events: 'announcements are not arriving' };
  expect([ready.status, await ready.json()]).toMatchObject([200, { status: 'ready', checks }]);
  expect((await scrape(unannounced)).sum('gateway_listener_up')).toBe(0);

  const stream = await subscribeToNotifications(unannounced, 'unannounced');
  await publish(gateway, 'unannounced', 'task_failed', { id: 'of another' });
  expect((await nextEvent(stream)).notification.id).toBe('of another');
  await publish(unannounced, 'unannounced', 'task_failed', { id: 'of its own' });
  expect((await nextEvent(stream)).notification.id).toBe('of its own');
  stream.close();
  expect(warnings()).toHaveLength(1);
  await unannounced.close();
});

test('reads the changes of many subscribers together', async () => {
  const users = Array.from({ length: 40 }, (_, index) => `woken-${index}`);
  const streams = await Promise.all(users.map((user) => subscribeToNotifications(gateway, user)));
  const statements = await recordStatements(async () => {
    // Stored without an announcement.
    for (const user of users)
      await insertRecords(gateway.database, 'notification', 1, { user_id: `'${user}'` });
    const revisions = 'insert into user_revision (user_id, notifications) select unnest($1::text[]), 1';
    await gateway.database.sql(revisions, [users]);
    for (const stream of streams) expect((await nextEvent(stream)).notification.id).toBe('n-1');
  });

  const isOfUsers = (value: unknown) => Array.isArray(value) && value.some((item) => users.includes(item));
  const reads = statements.filter(({ text, values }) => text.startsWith('select') && values.some(isOfUsers));
  // Streams whose first read comes after the insert need no announcement.
  expect(reads.filter(({ text }) => text.includes('join')).length).toBeLessThanOrEqual(4);
  expect(reads.length).toBeLessThanOrEqual(10);
  for (const stream of streams) stream.close();
});
