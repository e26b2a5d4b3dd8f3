import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { member } from '../support/tokens.ts';

/* The memory of a subscription that is never read is limited, whatever it selects. */

const STREAMS = 20;
const NOTIFICATIONS = 200;
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

/** Returns the gateway's resident memory, in MiB. */
async function residentMemory(): Promise<number> {
  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
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
  const after = Buffer.from(JSON.stringify([0, 0])).toString('base64url');
  sent.end(
    JSON.stringify({ query: `subscription { notificationEvents(after: "${after}") { ${selection} } }` }),
  );
  const [response] = await once(sent, 'response');
  return response;
}

test.each([
  ['titles', 'notification { ... on UserNotification { title } }'],
  ['short fields only', 'cursor notification { ... on UserNotification { id } }'],
])('uses less than 4 MiB for each unread stream of %s', async (what, selection) => {
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
  const warm = await subscribeUnread(token, selection);
  const before = await residentMemory();
  const streams = await Promise.all(
    Array.from({ length: STREAMS - 1 }, () => subscribeUnread(token, selection)),
  );
  const peaks: number[] = [];
  await eventually(async () => {
    peaks.push(await residentMemory());
    expect(peaks.length).toBeGreaterThan(100);
  });
  expect(Math.max(...peaks) - before).toBeLessThan(4 * STREAMS);
  for (const stream of [warm, ...streams]) stream.destroy();
});
