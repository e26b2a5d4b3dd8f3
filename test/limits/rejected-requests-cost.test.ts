import { getIntrospectionQuery } from 'graphql';
import { describe, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { member, signTaskToken, signToken } from '../support/tokens.ts';

const READS = 3;
const WRITES = 2;

const gateway = useGateway({
  RATE_LIMIT_READS_PER_MINUTE: String(READS),
  RATE_LIMIT_WRITES_PER_MINUTE: String(WRITES),
});

/** Returns a user that no other test uses. */
let users = 0;
const newUser = () => {
  users += 1;
  return `user-${users}`;
};

const readQuota = ({ headers }: { headers: Headers }) =>
  ['ratelimit-limit', 'ratelimit-remaining'].map((name) => headers.get(name));

type Send = (token: string) => Promise<{ status: number; headers: Headers }>;

const putPreferences = (token: string, sent: Parameters<typeof rest>[3]) =>
  rest(gateway, 'PUT', '/user/notification-preferences', { token, ...sent });

const rejected: [what: string, send: Send, status: number][] = [
  ['a document that cannot be parsed', (token) => graphql(gateway, '{', {}, { token }), 400],
  ['an invalid document', (token) => graphql(gateway, '{ unknown }', {}, { token }), 400],
  [
    'an unknown operation',
    (token) => graphql(gateway, 'query A { __typename } query B { __typename }', {}, { token }),
    400,
  ],
  ['introspection', (token) => graphql(gateway, '{ __typename }', {}, { token }), 200],
  [
    'a variable of the wrong type',
    (token) =>
      graphql(gateway, 'query ($n: Int) { workspaces(first: $n) { totalCount } }', { n: 'x' }, { token }),
    400,
  ],
  [
    'a variable of the wrong type in a mutation',
    (token) =>
      graphql(
        gateway,
        'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }',
        { id: {} },
        { token },
      ),
    400,
  ],
  [
    'a REST body that is not JSON',
    (token) => putPreferences(token, { raw: '{', headers: { 'Content-Type': 'application/json' } }),
    400,
  ],
  ['a REST body of the wrong shape', (token) => putPreferences(token, { body: {} }), 422],
];

test.each(rejected)(
  '%s costs a read; without reads, as many such requests are served again, then 429 is returned',
  async (_what, send, status) => {
    const token = await member(newUser());

    const first = await send(token);
    for (let count = 1; count < 2 * READS; count += 1) expect((await send(token)).status).toBe(status);
    const last = await send(token);

    expect([first.status, ...readQuota(first)]).toEqual([status, '3', '2']);
    expect([last.status, ...readQuota(last)]).toEqual([429, '3', '0']);
    expect(last.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
  },
);

test('an invalid query string costs a read, and returns 429 without remaining reads', async () => {
  const token = await member(newUser());

  const replies = [];
  for (let count = 0; count <= READS; count += 1)
    replies.push(await rest(gateway, 'GET', '/user/workspaces?limit=0', { token }));

  expect(replies.map(({ status }) => status)).toEqual([400, 400, 400, 429]);
  expect(replies.map(readQuota)).toEqual([
    ['3', '2'],
    ['3', '1'],
    ['3', '0'],
    ['3', '0'],
  ]);
});

test('a mutation that the rate limit refuses costs a read', async () => {
  const token = await member(newUser());
  const send = () =>
    graphql(gateway, 'mutation { deleteEditorAuth { editorAuth { needsReauth } } }', {}, { token });
  for (let count = 0; count < WRITES; count += 1) expect((await send()).status).toBe(200);
  for (let count = 0; count < READS; count += 1) expect((await send()).status).toBe(429);

  expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(429);
});

test('requests that are rejected before their body is read cost nothing', async () => {
  const token = await member(newUser());
  for (let count = 0; count < WRITES; count += 1) await putPreferences(token, { body: { preferences: [] } });

  const rejected = await putPreferences(token, { body: {} });
  const read = await rest(gateway, 'GET', '/user/workspaces', { token });

  expect(rejected.status).toBe(429);
  expect([read.status, ...readQuota(read)]).toEqual([200, '3', '2']);
});

test('Retry-After of a blocked request is the time until the token can be used again', async () => {
  const token = await member(newUser());
  const write = () => rest(gateway, 'DELETE', '/editor/auth', { token });
  for (let count = 0; count < WRITES; count += 1) await write();
  for (let count = 0; count < READS; count += 1) await rest(gateway, 'GET', '/user/workspaces', { token });

  const blocked = await graphql(gateway, '{ __typename }', {}, { token });
  const writes = await write();

  expect([blocked.status, writes.status]).toEqual([429, 429]);
  expect(Number(blocked.headers.get('retry-after'))).toBeLessThanOrEqual(
    Number(writes.headers.get('retry-after')),
  );
});

test('a missing scope costs a read over both APIs', async () => {
  const token = await signToken({ sub: newUser(), scope: 'account:read' });

  const replies = [
    await rest(gateway, 'DELETE', '/editor/auth', { token }),
    await graphql(gateway, '{ platform { __typename } }', {}, { token }),
  ];

  expect(replies.map(readQuota)).toEqual([
    ['3', '2'],
    ['3', '1'],
  ]);
});

test('an unknown record costs as much as the operation, once', async () => {
  const token = await member(newUser());

  const reply = await rest(gateway, 'POST', '/user/notifications/unknown/dismiss', { token });

  expect([reply.status, ...readQuota(reply)]).toEqual([404, '2', '1']);
});

describe('a document that is not in the cache', () => {
  const READS = 20;
  const TASKS = 10;
  const costly = useGateway({
    RATE_LIMIT_READS_PER_MINUTE: String(READS),
    RATE_LIMIT_TASKS_PER_MINUTE: String(TASKS),
  });
  let documents = 0;
  /** Returns a document of a length that no other call returns. */
  const newDocument = (characters: number, start = '{ editorAuth { needsReauth } }') => {
    documents += 1;
    return `${start} # ${documents} `.padEnd(characters);
  };
  const remaining = async (token: string, query: string) => {
    const reply = await graphql(costly, query, {}, { token });
    return [reply.status, Number(reply.headers.get('ratelimit-remaining'))];
  };

  test.each([
    ['a valid', '{ editorAuth { needsReauth } }', 200],
    ['an invalid', '{ unknown }', 400],
    ['an unparseable', '{', 400],
    ['a malformed', '}', 400],
  ])(
    'costs a read for each 1,024 characters, once for all callers: %s document',
    async (_what, start, status) => {
      const token = await member(newUser());
      const query = newDocument(4 * 1024, start);

      expect(await remaining(token, newDocument(1023, start))).toEqual([status, READS - 1]);
      expect(await remaining(token, query)).toEqual([status, READS - 1 - 4 - 1]);
      expect(await remaining(token, query)).toEqual([status, READS - 7]);
      expect(await remaining(await member(newUser()), query)).toEqual([status, READS - 1]);
    },
  );

  test('is rejected once neither reads nor rejected requests are left, without being parsed', async () => {
    const token = await member(newUser());
    const size = 15 * 1024;

    const statuses = [];
    for (let count = 0; count < 4; count += 1)
      statuses.push((await graphql(costly, newDocument(size, '{'), {}, { token })).status);

    expect(statuses).toEqual([400, 400, 429, 429]);
  });

  test('that costs more than the limit takes all of it', async () => {
    expect(await remaining(await member(newUser()), newDocument(60 * 1024, '{ unknown }'))).toEqual([400, 0]);
  });

  test('is charged to the task of a task token', async () => {
    const query = '{ latestPlatformCursor }';
    const token = await signTaskToken(newUser(), 'task-1');

    expect(await remaining(token, newDocument(3 * 1024, query))).toEqual([200, TASKS - 4]);
    expect(await remaining(token, newDocument(9 * 1024, query))).toEqual([429, 0]);
    expect(await remaining(await signTaskToken(newUser(), 'task-2'), query)).toEqual([200, TASKS - 1]);
  });

  test('introspection costs a read for each started 1,000 of its cost, and one once its reply is kept', async () => {
    const query = newDocument(
      100,
      '{ __schema { types { name fields { name type { name ofType { name } } } } } }',
    );
    const variable =
      'query ($name: String!) { __type(name: $name) { fields { name type { name ofType { name } } } } }';
    const token = await member(newUser());

    const [, first = 0] = await remaining(token, query);
    const [, second] = await remaining(token, query);
    expect(READS - first).toBeGreaterThan(2);
    expect(second).toBe(first - 1);
    for (let sent = 0; sent < 2; sent += 1) {
      const reply = await graphql(costly, variable, { name: 'Query' }, { token: await member(newUser()) });
      expect(READS - Number(reply.headers.get('ratelimit-remaining'))).toBeGreaterThan(2);
    }
  });

  test('a standard introspection query costs one read', async () => {
    expect(await remaining(await member(newUser()), getIntrospectionQuery())).toEqual([200, READS - 1]);
  });
});
