import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatEventCursor } from '../../src/revisions/event-cursor.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { member } from '../support/tokens.ts';
import { peakMemoryMiB, resetPeakMemory } from './support/memory.ts';
import { processorTimeMs } from './support/processor-time.ts';

/* The memory of a subscription that is never read is limited, whatever it selects. */

/** With the first one, as many as a user may open. */
const STREAMS = 19;
/** Each stream selects 24 MB of titles, more than the kernel's socket buffers hold. */
const NOTIFICATIONS = 60;
const LENGTH = 400_000;

let database: TestDatabase;
let gateway: GatewayProcess;
beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGatewayProcess({ ...settingsFor(database), LOG_LEVEL: 'warn' });
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

/** Waits until gateway and database have been idle for a while: all streams wait for their clients. */
async function waitUntilIdle(): Promise<void> {
  let checks = 0;
  let usedMs = 0;
  await eventually(async () => {
    const reading = await database.sql(
      `select from pg_stat_activity
        where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`,
    );
    const nowMs = processorTimeMs(gateway.pid);
    checks = reading.length === 0 && nowMs === usedMs ? checks + 1 : 0;
    usedMs = nowMs;
    expect(checks).toBe(10);
  });
}

/** Subscribes to all changes from the first one, and never reads the reply. */
async function subscribeUnread(token: string, selection: string): Promise<IncomingMessage> {
  const sent = request(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
      Authorization: `Bearer ${token}`,
    },
  });
  const after = formatEventCursor({ epoch: '', revision: 0 });
  sent.end(
    JSON.stringify({ query: `subscription { notificationEvents(after: "${after}") { ${selection} } }` }),
  );
  const [response]: IncomingMessage[] = await once(sent, 'response');
  if (response === undefined) throw new Error('There was no response.');
  expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/event-stream']);
  return response;
}

const countSubscribers = async () => (await scrape(gateway)).sum('gateway_live_subscribers');

test.each([
  [16, 'titles', 'notification { ... on UserNotification { title } }'],
  [4, 'short fields only', 'cursor notification { ... on UserNotification { id } }'],
])('uses less than %i MiB for each unread stream of %s', async (limitMiB, what, selection) => {
  await database.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                               occurred_at, created_at, updated_at)
     select $1, 'n-' || n, n, 'task_failed', 'dismissed', 'task-' || n, 'p', repeat(md5(n::text), $2::int / 32),
            '{"taskStatus":"errored"}', now(), now(), now()
       from generate_series(1, $3::int) n`,
    [what, LENGTH, NOTIFICATIONS],
  );
  await database.sql('insert into user_revision (user_id, notifications) values ($1, $2)', [
    what,
    NOTIFICATIONS,
  ]);
  const token = await member(what);
  const first = await subscribeUnread(token, selection);
  await waitUntilIdle();
  resetPeakMemory(gateway.pid);
  const before = peakMemoryMiB(gateway.pid);
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => subscribeUnread(token, selection)));
  await waitUntilIdle();
  const peak = peakMemoryMiB(gateway.pid);
  const subscribers = await countSubscribers();
  for (const stream of [first, ...streams]) stream.destroy();
  await eventually(async () => expect(await countSubscribers()).toBe(0));

  expect(subscribers).toBe(1 + STREAMS);
  // Most of it is garbage that has not been collected yet.
  expect((peak - before) / STREAMS).toBeLessThan(limitMiB);
});
