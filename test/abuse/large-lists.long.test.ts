import { setInterval } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { insertRecords } from '../support/bulk-records.ts';
import { member } from '../support/tokens.ts';
import { createClient, measureMemoryMiB, quantile, useMeasuredGateway } from './support/measured-gateway.ts';
import { openUnread } from './support/unread.ts';

/* Users with the largest notifications must neither exhaust the memory nor slow down another user. */

const MIB = 1024 * 1024;
/** The largest payload that can be published: its size, and the number of its values. */
const PAYLOAD_BYTES = 65_536;
const VALUES = 2500;
const NUMBER = 100;
const USERS = 10;
const CALLERS = 200;

const gateway = useMeasuredGateway({}, async (database) => {
  for (let user = 0; user < USERS; user += 1) {
    // Text, and many small values.
    for (const [kind, extra] of [
      ['text', `"${'ab '.repeat((PAYLOAD_BYTES - 100) / 3)}"`],
      ['values', `[${'["abcdefg"],'.repeat((VALUES - 10) / 2)}[]]`],
    ])
      await insertRecords(database, 'notification', NUMBER, {
        user_id: `'${kind}-${user}'`,
        status: "'active'",
        task_id: "'task-' || n",
        payload: `'{"toolId":"t","input":{"summary":"s","plan":"p","x":${extra}}}'::json`,
        request_state: "'open'",
      });
  }
});

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
    const client = createClient(gateway);
    let result: { status: number; bytes: number }[] = [];
    const { memoryMiB, p99Ms } = await measure(async () => {
      result = await Promise.all(tokens.map((token) => client.send({ token, body })));
    });
    client.close();
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
async function measure(attack: () => Promise<void>) {
  const client = createClient(gateway);
  const token = await member('alice');
  const body = JSON.stringify({ query: `{ notifications(first: 20) { nodes { ${content} } } }` });
  const sendOther = async () => {
    expect((await client.send({ token, body })).status).toBe(200);
    await client.send({ method: 'GET', path: '/user/notifications?limit=20', token });
  };
  for (let warming = 0; warming < 20; warming += 1) await sendOther();
  const times: number[] = [];
  const memoryMiB = await measureMemoryMiB(gateway, async () => {
    let isDone = false;
    const running = attack().finally(() => {
      isDone = true;
    });
    while (!isDone) {
      const startedAt = performance.now();
      await sendOther();
      times.push(performance.now() - startedAt);
    }
    await running;
  });
  client.close();
  return { memoryMiB, p99Ms: quantile(times, 0.99) };
}
