import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { member, signToken } from './support/tokens.ts';

const READS = 3;
const WRITES = 2;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    RATE_LIMIT_READS_PER_MINUTE: String(READS),
    RATE_LIMIT_WRITES_PER_MINUTE: String(WRITES),
  });
});
afterAll(() => gateway.close());

/** Returns a user that no other test uses. */
let users = 0;
const newUser = () => {
  users += 1;
  return `user-${users}`;
};

const readQuota = ({ headers }: { headers: Headers }) =>
  ['ratelimit-limit', 'ratelimit-remaining'].map((name) => headers.get(name));

test.each<
  [what: string, send: (token: string) => Promise<{ status: number; headers: Headers }>, status: number]
>([
  ['a document that cannot be parsed', (token) => graphql(gateway, '{', {}, { token }), 400],
  ['an invalid document', (token) => graphql(gateway, '{ unknown }', {}, { token }), 400],
  [
    'an unknown operation',
    (token) => graphql(gateway, 'query A { __typename } query B { __typename }', {}, { token }),
    400,
  ],
])('%s costs a read, and is reported even without remaining points', async (_what, send, status) => {
  const token = await signToken({ sub: newUser(), org_id: 'acme' });

  const first = await send(token);
  for (let count = 1; count <= READS; count += 1) await send(token);
  const last = await send(token);

  expect([first.status, ...readQuota(first)]).toEqual([status, '3', '2']);
  expect([last.status, ...readQuota(last)]).toEqual([status, '3', '0']);
  expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(429);
});

test.each<
  [
    what: string,
    send: (token: string) => Promise<{ status: number; headers: Headers }>,
    status: number,
    limit: number,
  ]
>([
  [
    'a body that is not JSON',
    (token) =>
      rest(gateway, 'PUT', '/user/notification-preferences', {
        token,
        raw: '{',
        headers: { 'Content-Type': 'application/json' },
      }),
    400,
    WRITES,
  ],
  [
    'a body of the wrong shape',
    (token) => rest(gateway, 'PUT', '/user/notification-preferences', { token, body: {} }),
    422,
    WRITES,
  ],
  [
    'an invalid query string',
    (token) => rest(gateway, 'GET', '/user/workspaces?limit=0', { token }),
    400,
    READS,
  ],
  [
    'a variable of the wrong type',
    (token) =>
      graphql(gateway, 'query ($n: Int) { workspaces(first: $n) { totalCount } }', { n: 'x' }, { token }),
    400,
    READS,
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
    WRITES,
  ],
])(
  '%s costs as much as the operation, and returns 429 without remaining points',
  async (_what, send, status, limit) => {
    const token = await member(newUser());

    const first = await send(token);
    for (let count = 1; count < limit; count += 1) expect((await send(token)).status).toBe(status);
    const last = await send(token);

    expect([first.status, ...readQuota(first)]).toEqual([status, String(limit), String(limit - 1)]);
    expect([last.status, ...readQuota(last)]).toEqual([429, String(limit), '0']);
  },
);

test('a missing scope costs a read over both APIs', async () => {
  const token = await signToken({ sub: newUser(), scope: 'account:read' });

  const replies = [
    await rest(gateway, 'DELETE', '/editor/auth', { token }),
    await graphql(gateway, '{ statistics { __typename } }', {}, { token }),
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
