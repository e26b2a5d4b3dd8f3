import { setInterval } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { fillTables, insertRecords } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { member, platform } from '../support/tokens.ts';
import { openUnread } from '../support/unread.ts';
import {
  createClient,
  measureMemoryMiB,
  quantile,
  type Sent,
  useMeasuredGateway,
} from './measured-gateway.ts';

const MIB = 1024 * 1024;
/** The largest payload that can be published: its size, and the number of its values. */
const PAYLOAD_BYTES = 65_536;
const VALUES = 2500;

const content = '... on PlanRequestedNotification { payload { input } }';
/** Repeats a selection, each time with an alias of its own. */
const repeat = (count: number, selection: string) =>
  Array.from({ length: count }, (_, index) => `a${index}: ${selection}`).join(' ');
const pages = (count: number, first: number) =>
  repeat(count, `notifications(first: ${first}) { nodes { ${content} } }`);

describe('the largest notifications neither exhaust the memory nor delay another user', () => {
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

  /** Large documents, which cost as much as a document may, and pages of the other kinds. */
  const documents = {
    'twenty lists': pages(20, 19),
    'four pages': pages(4, 96),
    'a small page': pages(1, 20),
    'a page': pages(1, NUMBER),
  };

  const userOf = (kind: string, index: number) => `${kind}-${index % USERS}`;

  /** Measures the memory above rest during an attack, and the 99th percentile of how long another user's pages take. */
  async function measure(attack: () => Promise<void>) {
    const client = createClient(gateway);
    const token = await member('alice');
    const body = JSON.stringify({ query: `{ ${documents['a small page']} }` });
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

  test.each<[keyof typeof documents, string]>([
    ['twenty lists', 'values'],
    ['four pages', 'text'],
    ['a page', 'values'],
    ['a small page', 'text'],
  ])(
    'if 200 callers of 10 users request %s (%s)',
    async (name, kind) => {
      const body = JSON.stringify({ query: `{ ${documents[name]} }` });
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

  test('if 200 replies are not read', async () => {
    const queries = Object.values(documents).map((fields) => JSON.stringify({ query: `{ ${fields} }` }));
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
});

describe('lists of all users in one reply of a service', () => {
  const gateway = useGateway();
  beforeAll(async () => {
    await insertRecords(gateway.database, 'notification', 100, {
      status: "'active'",
      payload: `json_build_object('toolId', 't', 'input',
                  json_build_object('summary', 's', 'plan', repeat('x', 65400)))`,
    });
    await gateway.database.sql(
      `insert into user_revision (user_id, notifications) select 'user-' || n, n from generate_series(1, 100) n`,
    );
  });

  const users = (first: number) =>
    `users(first: ${first}) { nodes { notifications(first: 20) { nodes { ${content} } } } }`;

  test.each([
    ['pages', pages(4, 100), pages(4, 96), 4 * 96],
    ['small pages', pages(20, 20), pages(20, 19), 20 * 19],
    ['the lists of listed users', users(20), users(18), 18],
  ])('have at most 26 MiB, which their cost limits: %s', async (_what, tooMany, most, count) => {
    const dashboard = gateway.as(() => platform('platform:read'));
    const refused = await dashboard.graphql(`{ platform { ${tooMany} } }`);
    expect([refused.status, refused.errors[0].message]).toEqual([
      400,
      expect.stringContaining('limit for cost'),
    ]);
    const { text, errors } = await dashboard.graphql(`{ platform { ${most} } }`);
    expect(errors).toEqual([]);
    expect(text.length).toBeGreaterThan(count * 65_400);
    expect(text.length).toBeLessThan(26 * MIB);
  });
});

describe("reads of one user do not slow down another's, even without a rate limit", () => {
  const gateway = useMeasuredGateway({}, (database) =>
    fillTables(database, ['notification', 'workspace'], async () => {
      await insertRecords(database, 'notification', 40_000, { user_id: "'mallory'" });
      await insertRecords(database, 'workspace', 4_000, { user_id: "'mallory'" });
    }),
  );

  /** Mallory's connections. Each of them receives a reply, on average, while Alice's requests are measured. */
  const CONNECTIONS = 6;
  const MIN_REQUESTS = 30;
  const INTERVAL_MS = 20;

  /**
   * Repeats Mallory's request on several connections, and meanwhile sends Alice's requests at a steady rate. Returns the
   * statuses, and two medians for Alice's requests: their duration, and how many of Mallory's requests were answered while
   * they waited. Unlike the duration, this number does not depend on other load on the machine.
   */
  async function measureFairness(attack: Sent) {
    const statuses = new Set<number>();
    let answered = 0;
    let isDone = false;
    const [mallory, alice] = [createClient(gateway), createClient(gateway)];
    const senders = Array.from({ length: CONNECTIONS }, async () => {
      for (; !isDone; answered += 1) statuses.add((await mallory.send(attack)).status);
    });

    const read = { method: 'GET', path: '/editor/auth', token: await member('alice') };
    const replies: Promise<{ ms: number; overtaken: number }>[] = [];
    for await (const sent of setInterval(INTERVAL_MS, replies)) {
      const [at, before] = [performance.now(), answered];
      const reply = alice.send(read).then(({ status }) => {
        statuses.add(status);
        return { ms: performance.now() - at, overtaken: answered - before };
      });
      if (sent.push(reply) >= MIN_REQUESTS && answered >= CONNECTIONS) break;
    }
    const all = await Promise.all(replies);
    isDone = true;
    await Promise.all(senders);
    mallory.close();
    alice.close();
    return {
      statuses,
      ms: quantile(all.map(({ ms }) => ms)),
      overtaken: quantile(all.map(({ overtaken }) => overtaken)),
    };
  }

  const filtered =
    'notifications(first: 20, filter: { kinds: TASK_FAILED }) { nodes { __typename } totalCount }';

  test.each<[what: string, attack: Sent]>([
    [
      'notifications with filters that match none of 40,000',
      { body: JSON.stringify({ query: `{ ${repeat(20, filtered)} }` }) },
    ],
    ['4,000 workspaces again and again', { method: 'GET', path: '/user/workspaces' }],
  ])(
    'listing %s',
    async (_what, given) => {
      const attack = { ...given, token: await member('mallory') };
      // Before code is compiled, requests take several times as long.
      const client = createClient(gateway);
      for (let warming = 0; warming < 3; warming += 1) await client.send(attack);
      client.close();
      const { statuses, ms, overtaken } = await measureFairness(attack);
      expect(statuses).toEqual(new Set([200]));
      expect(overtaken).toBe(0);
      expect(ms).toBeLessThan(1000);
    },
    60_000,
  );
});
