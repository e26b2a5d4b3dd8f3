import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatEventCursor } from '../../src/revisions/event-cursor.ts';
import { timeouts } from '../../src/server/connections.ts';
import { insertRecords } from '../support/bulk-records.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { scrape } from '../support/metrics.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member } from '../support/tokens.ts';
import { openUnread } from '../support/unread.ts';
import { measureMemoryMiB, processorTimeMs, useMeasuredGateway } from './measured-gateway.ts';

const measured = useMeasuredGateway({ GRAPHIQL: 'true', LOG_LEVEL: 'error' });
/** A gateway in this process with a short timeout for stalled writes. */
let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await startTestGateway({}, measured.database, { ...timeouts, stalledWriteTimeout: 1000 });
  token = await member('alice');
  // The list is 18 MB, more than the kernel's socket buffers hold.
  for (let round = 0; round < 20; round += 1) {
    const workspaces = Array.from({ length: 100 }, () =>
      workspaceInput({ status: 'ERROR', errorMessage: 'x'.repeat(9000) }),
    );
    await putWorkspaces(gateway, 'alice', workspaces);
  }
});
afterAll(() => gateway.close());

/** Returns the path of the script of the REST reference, the largest file. */
async function findScript(gateway: { address: string }): Promise<string> {
  const reply = await fetch(`${gateway.address}/docs`, { headers: { Accept: 'text/html' } });
  const [, address] = /src="(\S+\/swagger-ui-[^"]+)"/.exec(await reply.text()) ?? [];
  return `/${address ?? expect.unreachable()}`;
}

const get = (path: string, ...lines: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');

/** A request for a stream of events. */
function subscribe(token: string, query: string): string {
  const body = JSON.stringify({ query });
  const lines = [
    `Authorization: Bearer ${token}`,
    'Accept: text/event-stream',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  return ['POST /graphql HTTP/1.1', 'Host: a', ...lines, '', body].join('\r\n');
}

test('closes a connection with 61 KB of pipelined requests for a file, using less than 64 MiB', async () => {
  const request = get(await findScript(measured));
  const used = await measureMemoryMiB(measured, async () => {
    const connection = await openUnread(measured, request.repeat(Math.ceil(61_000 / request.length)));
    await connection.readAll();
  });
  expect(used).toBeLessThan(64);
  expect((await fetch(`${measured.address}/healthz`)).status).toBe(200);
});

test('uses less than 64 MiB for fifty connections with 144 unread requests each for a file', async () => {
  const request = get(await findScript(measured));
  const used = await measureMemoryMiB(measured, async () => {
    const opening = Array.from({ length: 50 }, () => openUnread(measured, request.repeat(144)));
    const connections = await Promise.all(opening);
    // Once a later request has a reply, all earlier ones have been parsed.
    const settled = await openUnread(measured, request.replace(/\r\n$/, 'Connection: close\r\n\r\n'));
    expect((await settled.readAll()).length).toBeGreaterThan(1_000_000);
    for (const connection of connections) connection.close();
  });
  expect(used).toBeLessThan(64);
});

/** Waits for the log line of a matching request that was aborted before its reply was complete. */
const expectAborted = (request: Record<string, unknown>) =>
  eventually(() => {
    const lines = gateway.logLines().map((line) => JSON.parse(line));
    expect(lines).toContainEqual(expect.objectContaining({ ...request, status: 200, aborted: true }));
  });

test('disconnects a client that does not read files', async () => {
  const path = await findScript(gateway);
  const connection = await openUnread(gateway, get(path).repeat(10));

  await expectAborted({ path });
  expect((await connection.readAll()).length).toBeLessThan(10 * 1_700_000);
});

test('disconnects a client that does not read a large list, even if it keeps sending requests', async () => {
  const path = '/user/workspaces';
  const request = get(path, `Authorization: Bearer ${token}`);
  const connection = await openUnread(gateway, request);
  const asking = setInterval(() => connection.send(request), 100);

  await expectAborted({ path });
  clearInterval(asking);
  expect((await connection.readAll()).length).toBeLessThan(18_000_000);
});

test('ends a live stream whose client stopped reading, but not one without events', async () => {
  const idle = await subscribeToNotifications(gateway, 'idle');
  const selection = '{ workspaceEvents { workspace { errorMessage } } }';
  const connection = await openUnread(gateway, subscribe(token, `subscription ${selection}`));

  await expectAborted({ operation: 'workspaceEvents' });
  connection.close();
  await publish(gateway, 'idle');
  expect(await nextEvent(idle)).toMatchObject({ type: 'CREATED' });
  idle.close();
});

test('sends everything to a client that reads slowly, however long it takes', async () => {
  const lines = [`Authorization: Bearer ${token}`, 'Connection: close'];
  const connection = await openUnread(gateway, get('/user/workspaces', ...lines));

  expect(await connection.readSlowly(500_000, 100)).toBeGreaterThan(18_000_000);
});

/** Waits until gateway and database have been idle for a while: all streams wait for their clients. */
async function waitUntilIdle(): Promise<void> {
  let checks = 0;
  let usedMs = 0;
  await eventually(async () => {
    const reading = await measured.database.sql(
      `select from pg_stat_activity
        where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`,
    );
    const nowMs = processorTimeMs(measured.pid);
    checks = reading.length === 0 && nowMs === usedMs ? checks + 1 : 0;
    usedMs = nowMs;
    expect(checks).toBe(10);
  });
}

const countSubscribers = async () => (await scrape(measured)).sum('gateway_live_subscribers');

test.each([
  [16, 'titles', 'notification { ... on UserNotification { title } }'],
  [4, 'short fields only', 'cursor notification { ... on UserNotification { id } }'],
])('uses less than %i MiB for each unread stream of %s', async (limitMiB, user, selection) => {
  // Each stream of titles selects 24 MB, more than the kernel's socket buffers hold.
  await insertRecords(measured.database, 'notification', 60, {
    user_id: `'${user}'`,
    kind: "'task_failed'",
    task_id: "'task-' || n",
    title: 'repeat(md5(n::text), 12500)',
    payload: `'{"taskStatus":"errored"}'`,
  });
  const known = 'insert into user_revision (user_id, notifications) values ($1, 60)';
  await measured.database.sql(known, [user]);
  const after = formatEventCursor({ epoch: '', revision: 0 });
  const query = `subscription { notificationEvents(after: "${after}") { ${selection} } }`;
  const request = subscribe(await member(user), query);
  const connections = [await openUnread(measured, request)];
  await waitUntilIdle();
  const used = await measureMemoryMiB(measured, async () => {
    // With the first one, as many as a user may open.
    const opening = Array.from({ length: 19 }, () => openUnread(measured, request));
    connections.push(...(await Promise.all(opening)));
    await eventually(async () => expect(await countSubscribers()).toBe(20));
    await waitUntilIdle();
  });
  for (const connection of connections) connection.close();
  await eventually(async () => expect(await countSubscribers()).toBe(0));

  // Most of it is garbage that has not been collected yet.
  expect(used / 19).toBeLessThan(limitMiB);
});
