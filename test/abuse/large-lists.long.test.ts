import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setInterval } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { settingsFor } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { member } from '../support/tokens.ts';
import { peakMemoryMiB, resetPeakMemory } from './support/memory.ts';
import { openUnread } from './support/unread.ts';

/* Users with the largest notifications must neither exhaust the memory nor slow down another user. */

let database: TestDatabase;
let gateway: GatewayProcess;

const MIB = 1024 * 1024;
/** The largest payload that can be published: its size, and the number of its values. */
const PAYLOAD_BYTES = 65_536;
const VALUES = 2500;
const NUMBER = 100;
const USERS = 10;
const CALLERS = 200;

beforeAll(async () => {
  database = await createTestDatabase();
  for (let user = 0; user < USERS; user += 1) {
    // Text, and many small values.
    await insertLarge(`text-${user}`, `"${'ab '.repeat((PAYLOAD_BYTES - 100) / 3)}"`);
    await insertLarge(`values-${user}`, `[${'["abcdefg"],'.repeat((VALUES - 10) / 2)}[]]`);
  }
  gateway = await startGatewayProcess({
    ...settingsFor(database),
    LOG_LEVEL: 'warn',
    RATE_LIMIT_READS_PER_MINUTE: '0',
  });
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

async function insertLarge(user: string, extra: string): Promise<void> {
  const payload = `{"toolId":"t","input":{"summary":"s","plan":"p","x":${extra}}}`;
  await database.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                               request_state, occurred_at, created_at, updated_at)
     select $1, 'n-' || n, n, 'plan_requested', 'active', 'task-' || n, 'p', 'A title', $2::json,
            'open', now(), now() - n * interval '1 min', now()
       from generate_series(1, $3::int) n`,
    [user, payload, NUMBER],
  );
}

const content = '... on PlanRequestedNotification { payload { input } }';
const repeat = (count: number, make: (index: number) => string) =>
  `{ ${Array.from({ length: count }, (_, index) => `a${index}: ${make(index)}`).join(' ')} }`;

/** Large documents, which cost as much as a document may, and pages of the other kinds. */
const documents = {
  'twenty lists': repeat(20, () => `notifications(first: 19) { nodes { ${content} } }`),
  'four pages': repeat(4, () => `notifications(first: 96) { nodes { ${content} } }`),
  'a small page': repeat(1, () => `notifications(first: 20) { nodes { ${content} } }`),
  'a page': repeat(1, () => `notifications(first: ${NUMBER}) { nodes { ${content} } }`),
};
type Name = keyof typeof documents;

const userOf = (kind: string, index: number) => `${kind}-${index % USERS}`;

test.each<[Name, string]>([
  ['twenty lists', 'text'],
  ['twenty lists', 'values'],
  ['four pages', 'text'],
  ['four pages', 'values'],
  ['a page', 'text'],
  ['a page', 'values'],
  ['a small page', 'text'],
  ['a small page', 'values'],
])(
  '200 callers of 10 users who request %s (%s) neither exhaust the memory nor delay another user',
  async (name, kind) => {
    const body = JSON.stringify({ query: documents[name] });
    const tokens = await Promise.all(
      Array.from({ length: CALLERS }, (_, index) => member(userOf(kind, index))),
    );
    const agent = new Agent({ keepAlive: true });
    const { memoryMiB, p99Ms, result } = await measure(() =>
      Promise.all(tokens.map((token) => send(agent, 'POST', '/graphql', body, token))),
    );
    agent.destroy();
    const served = result.filter(({ status }) => status === 200);
    // The others have waited for their turn for ten seconds.
    for (const { status } of result) expect([200, 429]).toContain(status);
    expect(served.length).toBeGreaterThan(0);
    expect(Math.max(...served.map(({ bytes }) => bytes))).toBeLessThan(26 * MIB);
    // A large document has up to 400 of the records, which leave garbage of five times their text.
    expect(memoryMiB).toBeLessThan(name.endsWith('page') ? 512 : 1024);
    expect(p99Ms).toBeLessThan(1000);
  },
  180_000,
);

test('200 replies that are not read neither exhaust the memory nor delay another user', async () => {
  const queries = Object.values(documents).map((query) => JSON.stringify({ query }));
  const requests = await Promise.all(
    Array.from({ length: CALLERS }, async (_, index) => {
      const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await member(userOf('text', index))}\r\n`;
      const body = queries[Math.floor(index / USERS) % (queries.length + 1)];
      return body === undefined
        ? `GET /user/notifications ${head}\r\n`
        : `POST /graphql ${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    }),
  );
  const { memoryMiB, p99Ms } = await measure(async () => {
    const unread = await Promise.all(requests.map((request) => openUnread(gateway, request)));
    // The gateway has as much time as it needs to read everything without limits.
    for await (const since of setInterval(100, performance.now()))
      if (performance.now() - since > 5000) break;
    for (const connection of unread) connection.close();
  });
  expect(memoryMiB).toBeLessThan(512);
  expect(p99Ms).toBeLessThan(1000);
});

/** Measures the memory above rest during an attack, and the 99th percentile of how long another user's pages take. */
async function measure<Result>(attack: () => Promise<Result>) {
  const agent = new Agent({ keepAlive: true });
  const other = await member('alice');
  const page = JSON.stringify({ query: `{ notifications(first: 20) { nodes { ${content} } } }` });
  const sendOther = async () => {
    const { status } = await send(agent, 'POST', '/graphql', page, other);
    expect(status).toBe(200);
    await send(agent, 'GET', '/user/notifications?limit=20', undefined, other);
  };
  for (let warming = 0; warming < 20; warming += 1) await sendOther();
  resetPeakMemory(gateway.pid);
  const restMiB = peakMemoryMiB(gateway.pid);
  let isDone = false;
  const running = attack().finally(() => {
    isDone = true;
  });
  const times: number[] = [];
  while (!isDone) {
    const startedAt = performance.now();
    await sendOther();
    times.push(performance.now() - startedAt);
  }
  agent.destroy();
  const result = await running;
  const p99Ms = times.sort((a, b) => a - b)[Math.floor(0.99 * times.length)];
  return { memoryMiB: peakMemoryMiB(gateway.pid) - restMiB, p99Ms, result };
}

/** Sends a request and discards the reply, so that this process is not the bottleneck. */
async function send(agent: Agent, method: string, path: string, body: string | undefined, token: string) {
  const request = httpRequest(`${gateway.address}${path}`, {
    agent,
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
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
