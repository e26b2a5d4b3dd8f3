import { expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { signToken } from '../support/tokens.ts';

const gateway = useGateway({ GRAPHIQL: 'true', RATE_LIMIT_READS_PER_MINUTE: '1' });

test.each([
  '{ __schema { queryType { name } } }',
  '{ __type(name: "Query") { name } }',
  '{ __typename }',
  'mutation { __typename }',
  '{ ...A ... on Query { b: __typename } } fragment A on Query { a: __typename }',
])('introspection requires no token while GRAPHIQL is on: %s', async (query) => {
  const { status, data, errors } = await graphql(gateway, query);

  expect([status, errors]).toEqual([200, []]);
  expect(data).not.toBeNull();
});

test('introspection without a token is not rate limited', async () => {
  for (let count = 0; count < 3; count += 1) {
    const { status, headers } = await graphql(gateway, '{ __typename }');
    expect([status, headers.get('ratelimit-limit')]).toEqual([200, null]);
  }
});

test.each([
  '{ workspaces { totalCount } }',
  '{ __typename workspaces { totalCount } }',
  '{ __typename: workspaces { totalCount } }',
  '{ ...A } fragment A on Query { workspaces { totalCount } }',
  '{ ... { ... on Query { workspaces { totalCount } } } }',
  '{ __typename workspaces @skip(if: true) { totalCount } }',
  'query A { __typename } query B { workspaces { totalCount } }',
  '{ __typename unknown }',
  'subscription { notificationEvents { cursor } }',
  'subscription { __typename: editorAuthEvents { editorAuth { needsReauth } } }',
  '{ __typename',
  '',
])('any other root field returns 401 without data if the token is missing: %s', async (query) => {
  const { status, text } = await graphql(gateway, query);

  expect(status).toBe(401);
  expect(JSON.parse(text)).not.toHaveProperty('data');
});

test('an invalid token returns 401 even for introspection', async () => {
  const token = await signToken({ sub: 'alice', aud: 'another-service' });

  const { status, headers } = await graphql(gateway, '{ __typename }', {}, { token });

  expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"']);
});

test('introspection by GET requires no token', async () => {
  const response = await fetch(
    `${gateway.address}/graphql?${new URLSearchParams({ query: '{ __typename }' })}`,
  );

  expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
});
