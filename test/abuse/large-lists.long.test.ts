import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setInterval } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { measureJson } from '../../src/values/json.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { settingsFor } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { member } from '../support/tokens.ts';
import { peakMemoryMiB, resetPeakMemory } from './support/memory.ts';
import { openUnread } from './support/unread.ts';

/* One user's large notifications must neither exhaust the memory nor slow down another user. */

let database: TestDatabase;
let gateway: GatewayProcess;
let token: string;

const MIB = 1024 * 1024;
/** The largest `input` that can be published. */
const INPUT_BYTES = MIB / 4;
const NUMBER = 100;
const REQUESTS = 50;

beforeAll(async () => {
  database = await createTestDatabase();
  // Text, and many small values.
  await insertLarge('text', `"x":"${'ab '.repeat(INPUT_BYTES / 3)}"`);
  await insertLarge('values', `"x":[${'[],'.repeat(INPUT_BYTES / 3)}[]]`);
  gateway = await startGatewayProcess({
    ...settingsFor(database),
    LOG_LEVEL: 'warn',
    RATE_LIMIT_READS_PER_MINUTE: '0',
  });
  token = await member('text');
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

async function insertLarge(user: string, property: string): Promise<void> {
  const payload = `{"toolId":"t","input":{"summary":"s","plan":"p",${property}}}`;
  await database.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                               payload_size, request_state, occurred_at, created_at, updated_at)
     select $1, 'n-' || n, n, 'plan_requested', 'active', 'task-' || n, 'p', 'A title', $2::json, $3::int,
            'open', now(), now() - n * interval '1 min', now()
       from generate_series(1, $4::int) n`,
    [user, payload, measureJson(JSON.parse(payload), payload), NUMBER],
  );
}

const content = '... on PlanRequestedNotification { payload { input } }';
const lists = (first: number) =>
  Array.from(
    { length: 20 },
    (_, index) => `a${index}: notifications(first: ${first}) { nodes { ${content} } }`,
  );

const twentyLists = `{ ${lists(100).join(' ')} }`;
const twentyNotifications = `{ ${Array.from({ length: 20 }, (_, index) => `a${index}: notification(id: "n-${index + 1}") { ${content} }`).join(' ')} }`;

test.each([
  ['20 lists', 'text', twentyLists],
  ['20 lists', 'values', twentyLists],
  ['20 notifications', 'text', twentyNotifications],
  ['20 notifications', 'values', twentyNotifications],
])(
  '50 concurrent requests for %s (%s) neither exhaust the memory nor delay another user',
  async (_what, user, query) => {
    token = await member(user);
    const body = JSON.stringify({ query });
    const agent = new Agent({ keepAlive: true });
    const { memoryMiB, maxMs, result } = await measure(() =>
      Promise.all(Array.from({ length: REQUESTS }, () => send(agent, 'POST', '/graphql', body))),
    );
    agent.destroy();
    expect(new Set(result.map(({ status }) => status))).toEqual(new Set([200]));
    expect(Math.max(...result.map(({ bytes }) => bytes))).toBeLessThan(17 * MIB);
    expect(memoryMiB).toBeLessThan(512);
    expect(maxMs).toBeLessThan(1000);
  },
  180_000,
);

test('50 replies that are not read neither exhaust the memory nor delay another user', async () => {
  token = await member('text');
  const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
  const body = JSON.stringify({ query: twentyLists });
  const query = `POST /graphql ${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const list = `GET /user/notifications ${head}\r\n`;
  const { memoryMiB, maxMs } = await measure(async () => {
    const unread = await Promise.all(
      Array.from({ length: REQUESTS }, (_, index) => openUnread(gateway, index % 2 === 0 ? query : list)),
    );
    // The gateway has as much time as it needs to read everything without limits.
    for await (const since of setInterval(100, performance.now()))
      if (performance.now() - since > 2000) break;
    for (const connection of unread) connection.close();
  });
  expect(memoryMiB).toBeLessThan(512);
  expect(maxMs).toBeLessThan(1000);
});

/** Measures the memory above rest during an attack, and the longest duration of another user's requests. */
async function measure<Result>(attack: () => Promise<Result>) {
  const agent = new Agent({ keepAlive: true });
  const other = await member('alice');
  const sendOther = () => send(agent, 'GET', '/user/notifications?limit=20', undefined, other);
  for (let warming = 0; warming < 20; warming += 1) await sendOther();
  const restMiB = peakMemoryMiB(gateway.pid);
  resetPeakMemory(gateway.pid);
  let isDone = false;
  const running = attack().finally(() => {
    isDone = true;
  });
  let maxMs = 0;
  while (!isDone) {
    const startedAt = performance.now();
    await sendOther();
    maxMs = Math.max(maxMs, performance.now() - startedAt);
  }
  agent.destroy();
  const result = await running;
  return { memoryMiB: peakMemoryMiB(gateway.pid) - restMiB, maxMs, result };
}

/** Sends a request and discards the reply, so that this process is not the bottleneck. */
async function send(agent: Agent, method: string, path: string, body?: string, as = token) {
  const request = httpRequest(`${gateway.address}${path}`, {
    agent,
    method,
    headers: { Authorization: `Bearer ${as}`, 'Content-Type': 'application/json' },
  }).end(body);
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('There was no response.');
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await once(response, 'end');
  return { status: response.statusCode ?? 0, bytes };
}
