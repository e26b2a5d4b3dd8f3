import { beforeAll, expect, test } from 'vitest';
import { encodeCursor } from '../../src/values/cursor.ts';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

/** Ordered by code point: upper case, lower case, characters outside the Basic Multilingual Plane. */
const ids = ['Al', 'al', 'al%', 'al-1', 'al-2', 'al_', 'ali', 'al\u{ffef}', 'al\u{10ffff}', 'am', 'bob'];

const gateway = useGateway();
beforeAll(async () => {
  for (const id of ids.toReversed()) await publish(gateway, id, 'task_failed');
});

async function users(args: string, selection = 'nodes { id } totalCount pageInfo { hasNextPage endCursor }') {
  const query = `{ platform { users${args && `(${args})`} { ${selection} } } }`;
  return (await gateway.as(() => platform('platform:read')).run(query)).platform.users;
}
const nodes = (...list: string[]) => list.map((id) => ({ id }));

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
])('users(%s) returns and counts users with the ID prefix, by code point', async (args, expected) => {
  expect(await users(args)).toMatchObject({ nodes: nodes(...expected), totalCount: expected.length });
});

test('a page continues after the last user of the previous one', async () => {
  const { pageInfo, ...first } = await users('prefix: "al", first: 5');
  expect(first).toEqual({ nodes: nodes(...ids.slice(1, 6)), totalCount: 8 });
  expect(pageInfo.hasNextPage).toBe(true);
  expect(await users(`prefix: "al", first: 5, after: "${pageInfo.endCursor}"`)).toMatchObject({
    nodes: nodes(...ids.slice(6, 9)),
    pageInfo: { hasNextPage: false },
  });
});

test('an edge has the cursor of its user, and an empty page has none', async () => {
  const selection = 'edges { cursor node { id } } pageInfo { startCursor endCursor hasPreviousPage }';
  const cursor = encodeCursor(['bob']);
  expect(await users('prefix: "b"', selection)).toEqual({
    edges: [{ cursor, node: { id: 'bob' } }],
    pageInfo: { startCursor: cursor, endCursor: cursor, hasPreviousPage: false },
  });
  expect(await users('prefix: "x"', selection)).toEqual({
    edges: [],
    pageInfo: { startCursor: null, endCursor: null, hasPreviousPage: false },
  });
});

test('returns the records of each user', async () => {
  for (const id of ['n-1', 'n-2']) await publish(gateway, 'counted-1', 'plan_requested', { id });
  await gateway.as('counted-1').dismiss({ id: 'n-1' });
  await putWorkspaces(gateway, 'counted-2', [workspaceInput(), workspaceInput()]);

  const selection = 'nodes { id notificationCounts { total } workspaces { totalCount } }';
  expect((await users('prefix: "counted-"', selection)).nodes).toEqual([
    { id: 'counted-1', notificationCounts: { total: 1 }, workspaces: { totalCount: 0 } },
    { id: 'counted-2', notificationCounts: { total: 0 }, workspaces: { totalCount: 2 } },
  ]);
});

test('omits deleted users', async () => {
  await publish(gateway, 'leaving');
  await deleteUser(gateway, 'leaving');
  expect((await users('prefix: "leaving"')).nodes).toEqual([]);
});

test.each([
  ['first: 0', 'first'],
  ['first: 101', 'first'],
  ['after: "x"', 'after'],
  [`after: "${encodeCursor([1])}"`, 'after'],
  [`after: "${encodeCursor([''])}"`, 'after'],
  [`prefix: "${'x'.repeat(256)}"`, 'prefix'],
])('rejects users(%s), naming the argument', async (args, location) => {
  await expect(users(args)).rejects.toMatchObject(refused('VALIDATION_FAILED', location));
});
