import { beforeAll, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { member, platform, signToken } from '../support/tokens.ts';

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const codesByPath = (errors: { path: string[]; extensions: { code: string } }[]) =>
  Object.fromEntries(errors.map(({ path, extensions }) => [path.join('.'), extensions.code]));

test('every failing root field has one error, and the others return their data', async () => {
  const query = `{
    good: workspaces { totalCount }
    unknown: notification(id: "unknown") { __typename }
    empty: notification(id: "") { __typename }
    forbidden: platform { __typename }
  }`;

  const { status, data, errors } = await graphql(gateway, query, {}, { token });

  expect(status).toBe(200);
  expect(data).toEqual({ good: { totalCount: 0 }, unknown: null, empty: null, forbidden: null });
  expect(errors).toHaveLength(3);
  expect(codesByPath(errors)).toEqual({
    unknown: 'NOT_FOUND',
    empty: 'VALIDATION_FAILED',
    forbidden: 'FORBIDDEN',
  });
});

test.each(['application/json', 'application/graphql-response+json'])(
  'returns 200 with data even if every root field fails, for Accept: %s',
  async (Accept) => {
    const query = '{ a: notification(id: "a") { __typename } b: notification(id: "b") { __typename } }';

    const { status, data, errors } = await graphql(gateway, query, {}, { token, headers: { Accept } });

    expect([status, data]).toEqual([200, { a: null, b: null }]);
    expect(codesByPath(errors)).toEqual({ a: 'NOT_FOUND', b: 'NOT_FOUND' });
  },
);

test('returns 200 if one field is refused by the rate limit and another one is null', async () => {
  const limited = await startTestGateway({ RATE_LIMIT_PLATFORM_PER_MINUTE: '1' }, gateway.database);
  const query = '{ unknown: user(id: "nobody") { __typename } refused: user(id: "nobody") { __typename } }';

  const { status, data, errors } = await graphql(limited, query, {}, { token: await platform() });

  expect([status, data]).toEqual([200, { unknown: null, refused: null }]);
  expect(codesByPath(errors)).toEqual({ refused: 'RATE_LIMITED' });
  await limited.close();
});

test('a failing mutation does not prevent the next one', async () => {
  const query = `mutation {
    first: dismissNotification(input: { id: "unknown" }) { __typename }
    second: updateNotificationPreferences(input: { preferences: [] }) { preferences { notificationKind } }
  }`;

  const { data, errors } = await graphql(gateway, query, {}, { token });

  expect(data.first).toBeNull();
  expect(data.second.preferences).toHaveLength(4);
  expect(codesByPath(errors)).toEqual({ first: 'NOT_FOUND' });
});

test('checks root fields in fragments like any other', async () => {
  const query =
    '{ ...A ... on Query { inline: platform { __typename } } } fragment A on Query { spread: platform { __typename } }';

  const { errors } = await graphql(gateway, query, {}, { token });

  expect(codesByPath(errors)).toEqual({ inline: 'FORBIDDEN', spread: 'FORBIDDEN' });
});

test('introspection requires a token, but no scope, while GRAPHIQL is off', async () => {
  const query = '{ __schema { queryType { name } } }';
  const scopeless = await signToken({ sub: 'alice', scope: '' });

  const without = await graphql(gateway, query);
  const withToken = await graphql(gateway, query, {}, { token: scopeless });

  expect(without.status).toBe(401);
  expect(withToken.data.__schema.queryType.name).toBe('Query');
});

test('returns BAD_REQUEST for a batch', async () => {
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify([{ query: '{ __typename }' }, { query: '{ __typename }' }]),
  });

  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
});

const get = async (parameters: Record<string, string>) =>
  fetch(`${gateway.address}/graphql?${new URLSearchParams(parameters)}`, {
    headers: { Authorization: `Bearer ${await member('bob')}`, Accept: 'application/json' },
  });

test('accepts queries with variables by GET', async () => {
  const query = 'query ($id: ID!) { workspaces(filter: { projectIds: [$id] }) { totalCount } }';

  const response = await get({ query, variables: '{"id":"what?"}' });

  expect(await response.json()).toEqual({ data: { workspaces: { totalCount: 0 } } });
});

test('returns 405 for a mutation by GET, and changes nothing', async () => {
  const response = await get({
    query: 'mutation { updateNotificationPreferences(input: { preferences: [] }) { __typename } }',
  });

  expect(response.status).toBe(405);
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
  expect(
    await gateway.database.sql('select * from notification_preference where user_id = $1', ['bob']),
  ).toEqual([]);
});

test.each(['variables', 'extensions'])(
  'returns BAD_REQUEST for %s in the URL that are not JSON',
  async (name) => {
    const response = await get({ query: '{ __typename }', [name]: '{' });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'BAD_REQUEST', errors: [{ location: `query.${name}` }] } }],
    });
  },
);
