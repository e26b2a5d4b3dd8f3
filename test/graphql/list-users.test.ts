import { beforeAll, expect, test } from 'vitest';
import { encodeCursor } from '../../src/values/cursor.ts';
import { type GraphQLReply, graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { signToken } from '../support/tokens.ts';

/** Ordered by code point: upper case, lower case, characters outside the Basic Multilingual Plane. */
const ids = ['Al', 'al', 'al%', 'al-1', 'al-2', 'al_', 'ali', 'al\u{ffef}', 'al\u{10ffff}', 'am', 'bob'];

const gateway = useGateway();
beforeAll(async () => {
  for (const id of ids.toReversed()) await publish(gateway, id, 'task_failed');
});

async function users(args: string, selection = 'nodes { id }'): Promise<GraphQLReply> {
  const token = await signToken({ sub: 'dashboard', scope: 'platform:read' });
  const reply = await graphql(
    gateway,
    `{ platform { users${args && `(${args})`} { ${selection} } } }`,
    {},
    { token },
  );
  return { ...reply, data: reply.data?.platform };
}

async function list(args: string) {
  const { data, errors } = await users(args, 'nodes { id } pageInfo { hasNextPage endCursor }');
  expect(errors).toEqual([]);
  const { nodes, pageInfo } = data.users;
  return { ids: nodes.map(({ id }: { id: string }) => id), ...pageInfo };
}

test.each([
  ['', ids],
  ['prefix: ""', ids],
  ['prefix: "al"', ids.slice(1, 9)],
  ['prefix: "A"', ['Al']],
  ['prefix: "al_"', ['al_']],
  ['prefix: "al%"', ['al%']],
  ['prefix: "al\u{ffef}"', ['al\u{ffef}']],
  ['prefix: "al\u{10ffff}"', ['al\u{10ffff}']],
  ['prefix: "\u{10ffff}"', []],
  ['prefix: "\u{d7ff}"', []],
  ['prefix: "alice"', []],
])('users(%s) returns users with the ID prefix, ordered by code point', async (args, expected) => {
  expect((await list(args)).ids).toEqual(expected);
});

test('a page continues after the last user of the previous one', async () => {
  const first = await list('prefix: "al", first: 5');
  expect(first).toMatchObject({ ids: ids.slice(1, 6), hasNextPage: true });
  const second = await list(`prefix: "al", first: 5, after: "${first.endCursor}"`);
  expect(second).toMatchObject({ ids: ids.slice(6, 9), hasNextPage: false });
});

test('an edge has the cursor of its user, and an empty page has none', async () => {
  const selection = 'edges { cursor node { id } } pageInfo { startCursor endCursor hasPreviousPage }';
  const { data } = await users('prefix: "b"', selection);
  const cursor = encodeCursor(['bob']);
  expect(data.users).toEqual({
    edges: [{ cursor, node: { id: 'bob' } }],
    pageInfo: { startCursor: cursor, endCursor: cursor, hasPreviousPage: false },
  });
  expect((await users('prefix: "x"', selection)).data.users).toEqual({
    edges: [],
    pageInfo: { startCursor: null, endCursor: null, hasPreviousPage: false },
  });
});

test('returns the records of each user', async () => {
  for (const id of ['n-1', 'n-2']) await publish(gateway, 'counted-1', 'plan_requested', { id });
  const dismissal = 'mutation { dismissNotification(input: { id: "n-1" }) { __typename } }';
  await asMember(gateway, 'counted-1', dismissal);
  await putWorkspaces(gateway, 'counted-2', [workspaceInput(), workspaceInput()]);

  const { data } = await users(
    'prefix: "counted-"',
    'nodes { id notificationCounts { total } workspaces { totalCount } }',
  );

  expect(data.users.nodes).toEqual([
    { id: 'counted-1', notificationCounts: { total: 1 }, workspaces: { totalCount: 0 } },
    { id: 'counted-2', notificationCounts: { total: 0 }, workspaces: { totalCount: 2 } },
  ]);
});

test.each([
  ['prefix: "a"', 9],
  ['prefix: "al", first: 1', 8],
  ['prefix: "x"', 0],
])('users(%s) counts the users with the ID prefix', async (args, count) => {
  expect((await users(args, 'totalCount')).data.users.totalCount).toBe(count);
});

test('omits deleted users', async () => {
  await publish(gateway, 'leaving');
  await deleteUser(gateway, 'leaving');
  expect((await list('prefix: "leaving"')).ids).toEqual([]);
});

test.each([
  ['first: 0', 'first'],
  ['first: 101', 'first'],
  ['after: "x"', 'after'],
  [`after: "${encodeCursor([1])}"`, 'after'],
  [`after: "${encodeCursor([''])}"`, 'after'],
  [`prefix: "${'x'.repeat(256)}"`, 'prefix'],
])('rejects users(%s), naming the argument', async (args, location) => {
  const { errors } = await users(args);
  expect(errors[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ location }] });
});
