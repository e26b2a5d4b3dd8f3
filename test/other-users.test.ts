import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { deleteUser, publish, putWorkspaces, workspaceInput } from './support/records.ts';
import { documentOf, goodArguments, isSubscription, rootFields } from './support/root-fields.ts';
import { openStream, subscribe } from './support/sse.ts';
import { member, signToken } from './support/tokens.ts';

let gateway: TestGateway;
let bobsNotification: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  bobsNotification = (await publish(gateway, 'bob')).id;
  await putWorkspaces(gateway, 'bob', [workspaceInput()]);
});
afterAll(() => gateway.close());

/** The account queries that take another user. */
const named = [
  'editorAuth',
  'editorAuthEvents',
  'notification',
  'notificationCounts',
  'notificationEvents',
  'notificationPreferences',
  'notifications',
  'workspaceEvents',
  'workspaces',
];

/** Calls a root field with good arguments, and returns the codes of its errors. A stream is closed again. */
async function codesOf(field: string, given: object, claims: object): Promise<string[]> {
  const variables = { ...goodArguments[field]?.('bob'), ...given };
  if (field === 'notification') Object.assign(variables, { id: bobsNotification });
  const token = await signToken({ sub: 'alice', org_id: 'acme', ...claims });
  const send = isSubscription(field) ? subscribe : graphql;
  const reply = await send(gateway, documentOf(field, variables), variables, { token });
  if ('stream' in reply) reply.stream?.close();
  return reply.errors.map(({ extensions }) => extensions.code);
}

test('exactly the account queries take an optional user', () => {
  const optional = Object.values(rootFields).filter(({ args }) =>
    args.some(({ name, type }) => name === 'userId' && String(type) === 'ID'),
  );

  expect(optional.map(({ name }) => name).sort()).toEqual(named);
});

test.each(named)('%s of another user needs platform:read, whatever the account allows', async (field) => {
  const codes = (claims: object) => codesOf(field, { userId: 'bob' }, claims);

  expect(await codes({})).toEqual(['FORBIDDEN']);
  expect(await codes({ scope: 'account:read account:write' })).toEqual(['FORBIDDEN']);
  expect(await codes({ scope: 'platform:write platform:credentials' })).toEqual(['FORBIDDEN']);
  expect(await codes({ scope: 'platform:read' })).toEqual([]);
});

test.each(named)('%s of oneself by name needs no more than without', async (field) => {
  const without = await codesOf(field, {}, {});

  expect(await codesOf(field, { userId: 'alice' }, {})).toEqual(without);
  expect(without).not.toContain('FORBIDDEN');
});

test.each(named)('%s with platform:read alone is no account access of one’s own', async (field) => {
  expect(await codesOf(field, {}, { scope: 'platform:read' })).toEqual(['FORBIDDEN']);
});

test('subscriptions of another user show that user’s changes and end with that user’s data', async () => {
  const token = await signToken({ sub: 'dashboard', org_id: 'acme', scope: 'platform:read' });
  const open = (query: string) => openStream(gateway, `subscription { ${query} }`, {}, { token });
  const events = await open(
    'notificationEvents(userId: "carol") { notification { ... on UserNotification { userId id } } }',
  );
  const workspaces = await open('workspaceEvents(userId: "carol") { workspace { userId id } }');
  const auth = await open('editorAuthEvents(userId: "carol") { editorAuth { userId } }');

  const { id } = await publish(gateway, 'carol');
  const [workspace] = await putWorkspaces(gateway, 'carol', [workspaceInput()]);

  const taken = await Promise.all([events, workspaces, auth].map((stream) => stream.take()));
  expect(taken.map(({ data }) => data)).toEqual([
    { notificationEvents: { notification: { userId: 'carol', id } } },
    { workspaceEvents: { workspace: { userId: 'carol', id: workspace } } },
    { editorAuthEvents: { editorAuth: { userId: 'carol' } } },
  ]);
  await deleteUser(gateway, 'carol');
  expect(await Promise.all([events.ended, workspaces.ended, auth.ended])).toEqual(Array(3).fill('complete'));
});

test('the lists hold the caller’s own records alone on both faces', async () => {
  const token = await member('alice');

  const { data } = await graphql(
    gateway,
    '{ notifications { totalCount } workspaces { totalCount } }',
    {},
    { token },
  );
  const notifications = await rest(gateway, 'GET', '/user/notifications', { token });
  const workspaces = await rest(gateway, 'GET', '/user/workspaces', { token });

  expect(data).toEqual({ notifications: { totalCount: 0 }, workspaces: { totalCount: 0 } });
  expect([notifications.body, workspaces.body]).toEqual([{ notifications: [] }, { workspaces: [] }]);
});

test('REST knows no userId: unknown query parameters are ignored', async () => {
  const { body } = await rest(gateway, 'GET', '/user/workspaces?userId=bob&user_id=bob', {
    token: await member('alice'),
  });

  expect(body).toEqual({ workspaces: [] });
});

test('someone else’s notification is answered like an unknown one, byte for byte, over REST', async () => {
  const token = await member('alice');

  const others = await rest(gateway, 'POST', `/user/notifications/${bobsNotification}/dismiss`, { token });
  const unknown = await rest(gateway, 'POST', '/user/notifications/unknown/dismiss', { token });
  const nowhere = await rest(gateway, 'GET', '/nowhere', { token });

  expect([others.status, unknown.status, nowhere.status]).toEqual([404, 404, 404]);
  expect(others.text).toBe(unknown.text);
  expect(nowhere.text).toBe(unknown.text);
});

test.each([
  'query ($id: ID!) { notification(id: $id) { __typename } }',
  'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }',
])('someone else’s notification is answered like an unknown one, byte for byte: %s', async (query) => {
  const token = await member('alice');

  const others = await graphql(gateway, query, { id: bobsNotification }, { token });
  const unknown = await graphql(gateway, query, { id: 'unknown' }, { token });

  expect(others.errors[0].extensions).toEqual({ code: 'NOT_FOUND' });
  expect(others.text).toBe(unknown.text);
});
