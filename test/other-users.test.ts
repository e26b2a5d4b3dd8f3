import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { publish, putWorkspaces, workspaceInput } from './support/records.ts';
import { buildDocument, rootFields } from './support/root-fields.ts';
import { member, signToken } from './support/tokens.ts';

let gateway: TestGateway;
let bobsNotification: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  bobsNotification = (await publish(gateway, 'bob')).id;
  await putWorkspaces(gateway, 'bob', [workspaceInput()]);
});
afterAll(() => gateway.close());

/** The account queries with a `userId` argument. */
const queries = [
  'editorAuth',
  'notificationCounts',
  'notificationPreferences',
  'notifications',
  'workspaces',
];

test('exactly the account queries have an optional userId', () => {
  const optional = Object.values(rootFields).filter(({ args }) =>
    args.some(({ name, type }) => name === 'userId' && String(type) === 'ID'),
  );

  expect(optional.map(({ name }) => name).sort()).toEqual(queries);
});

test.each(queries)(
  '%s of another user requires platform:read, regardless of account scopes',
  async (field) => {
    const read = (claims: object, userId = 'bob') =>
      signToken({ sub: 'alice', org_id: 'acme', ...claims }).then((token) =>
        graphql(gateway, buildDocument(field, { userId }), { userId }, { token }),
      );
    const codes = async (claims: object, userId?: string) =>
      (await read(claims, userId)).errors.map(({ extensions }) => extensions.code);

    expect(await codes({})).toEqual(['FORBIDDEN']);
    expect(await codes({ scope: 'account:read account:write' })).toEqual(['FORBIDDEN']);
    expect(await codes({ scope: 'platform:write platform:credentials' })).toEqual(['FORBIDDEN']);
    expect(await codes({ scope: 'platform:read' })).toEqual([]);
  },
);

test.each(queries)("%s with one's own userId requires the same as without", async (field) => {
  const token = await member('alice');

  const { errors } = await graphql(
    gateway,
    buildDocument(field, { userId: 'alice' }),
    { userId: 'alice' },
    { token },
  );

  expect(errors).toEqual([]);
});

test.each(queries)("%s of one's own requires more than platform:read", async (field) => {
  const token = await signToken({ sub: 'alice', org_id: 'acme', scope: 'platform:read' });

  const { errors } = await graphql(gateway, buildDocument(field, {}), {}, { token });

  expect(errors.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN']);
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
