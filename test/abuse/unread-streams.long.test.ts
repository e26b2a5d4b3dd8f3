import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import { formatEventCursor } from '../../src/revisions/event-cursor.ts';
import { insertRecords } from '../support/bulk-records.ts';
import { eventually } from '../support/eventually.ts';
import { scrape } from '../support/metrics.ts';
import { member } from '../support/tokens.ts';
import { measureMemoryMiB, processorTimeMs, useMeasuredGateway } from './support/measured-gateway.ts';

/* The memory of a subscription that is never read is limited, whatever it selects. */

/** With the first one, as many as a user may open. */
const STREAMS = 19;
/** Each stream selects 24 MB of titles, more than the kernel's socket buffers hold. */
const NOTIFICATIONS = 60;
const LENGTH = 400_000;

const gateway = useMeasuredGateway();

/** Waits until gateway and database have been idle for a while: all streams wait for their clients. */
async function waitUntilIdle(): Promise<void> {
  let checks = 0;
  let usedMs = 0;
  await eventually(async () => {
    const reading = await gateway.database.sql(
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
  await insertRecords(gateway.database, 'notification', NOTIFICATIONS, {
    user_id: `'${what}'`,
    kind: "'task_failed'",
    task_id: "'task-' || n",
    title: `repeat(md5(n::text), ${LENGTH} / 32)`,
    payload: `'{"taskStatus":"errored"}'`,
  });
  await gateway.database.sql('insert into user_revision (user_id, notifications) values ($1, $2)', [
    what,
    NOTIFICATIONS,
  ]);
  const token = await member(what);
  const streams = [await subscribeUnread(token, selection)];
  await waitUntilIdle();
  const used = await measureMemoryMiB(gateway, async () => {
    const opening = Array.from({ length: STREAMS }, () => subscribeUnread(token, selection));
    streams.push(...(await Promise.all(opening)));
    await waitUntilIdle();
  });
  const subscribers = await countSubscribers();
  for (const stream of streams) stream.destroy();
  await eventually(async () => expect(await countSubscribers()).toBe(0));

  expect(subscribers).toBe(1 + STREAMS);
  // Most of it is garbage that has not been collected yet.
  expect(used / STREAMS).toBeLessThan(limitMiB);
});
