import { expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { member, signToken } from '../support/tokens.ts';

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
