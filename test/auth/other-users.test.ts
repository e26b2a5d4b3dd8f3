import { beforeAll, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { buildDocument, goodArguments, isSubscription, rootFields } from '../support/root-fields.ts';
import { openStream, subscribe } from '../support/sse.ts';
import { member, signToken } from '../support/tokens.ts';

const gateway = useGateway();
let bobsNotification: string;
beforeAll(async () => {
  bobsNotification = (await publish(gateway, 'bob')).id;
  await putWorkspaces(gateway, 'bob', [workspaceInput()]);
});

/** The subscriptions with a `userId` argument. */
const fields = ['editorAuthEvents', 'notificationEvents', 'workspaceEvents'];

/** Calls a root field with valid arguments, closes the stream if there is one, and returns the error codes. */
async function requestErrorCodes(field: string, given: object, claims: object): Promise<string[]> {
  const variables = { ...goodArguments[field]?.('bob'), ...given };
  const token = await signToken({ sub: 'alice', org_id: 'acme', ...claims });
  const send = isSubscription(field) ? subscribe : graphql;
  const reply = await send(gateway, buildDocument(field, variables), variables, { token });
  if ('stream' in reply) reply.stream?.close();
  return reply.errors.map(({ extensions }) => extensions.code);
}

test('exactly the subscriptions have an optional userId', () => {
  const optional = Object.values(rootFields).filter(({ args }) =>
    args.some(({ name, type }) => name === 'userId' && String(type) === 'ID'),
  );

  expect(optional.map(({ name }) => name).sort()).toEqual(fields);
});

test.each(fields)(
  '%s of another user requires platform:read, regardless of account scopes',
  async (field) => {
    const codes = (claims: object) => requestErrorCodes(field, { userId: 'bob' }, claims);

    expect(await codes({})).toEqual(['FORBIDDEN']);
    expect(await codes({ scope: 'account:read account:write' })).toEqual(['FORBIDDEN']);
    expect(await codes({ scope: 'platform:write platform:credentials' })).toEqual(['FORBIDDEN']);
    expect(await codes({ scope: 'platform:read' })).toEqual([]);
  },
);

test.each(fields)("%s with one's own userId requires the same as without", async (field) => {
  const without = await requestErrorCodes(field, {}, {});

  expect(await requestErrorCodes(field, { userId: 'alice' }, {})).toEqual(without);
  expect(without).not.toContain('FORBIDDEN');
});

test.each(fields)("%s of one's own requires more than platform:read", async (field) => {
  expect(await requestErrorCodes(field, {}, { scope: 'platform:read' })).toEqual(['FORBIDDEN']);
});

test("subscriptions to another user's records send that user's changes, and end when the user is deleted", async () => {
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

test("lists contain only the caller's own records over both APIs", async () => {
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

test('REST ignores userId, like any unknown query parameter', async () => {
  const { body } = await rest(gateway, 'GET', '/user/workspaces?userId=bob&user_id=bob', {
    token: await member('alice'),
  });

  expect(body).toEqual({ workspaces: [] });
});

test("another user's notification returns the same reply as an unknown one over REST", async () => {
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
])("another user's notification returns the same reply as an unknown one: %s", async (query) => {
  const token = await member('alice');

  const others = await graphql(gateway, query, { id: bobsNotification }, { token });
  const unknown = await graphql(gateway, query, { id: 'unknown' }, { token });

  expect(others.errors[0].extensions).toEqual({ code: 'NOT_FOUND' });
  expect(others.text).toBe(unknown.text);
});
