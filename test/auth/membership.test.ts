import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { signToken } from '../support/tokens.ts';

const gateway = useGateway();
let renamed: TestGateway;
beforeAll(async () => {
  renamed = await startTestGateway({ AUTH_ORG_CLAIM: 'https://acme.test/org' }, gateway.database);
});
afterAll(() => renamed.close());

test.each([
  ['a string', 'acme'],
  ['an array with one string', ['acme']],
  ['an array with several strings', ['acme', 'initech']],
])('accepts an organization claim that is %s', async (_what, org_id) => {
  const token = await signToken({ sub: 'alice', org_id });

  const { status } = await rest(gateway, 'GET', '/editor/auth', { token });

  expect(status).toBe(200);
});

test.each([
  ['is an empty string', ''],
  ['is an empty array', []],
  ['contains an empty string', ['acme', '']],
  ['is an array of numbers', [1]],
  ['is a number', 1],
  ['is true', true],
  ['is an object', { id: 'acme' }],
  ['is missing', null],
])('returns 403 with org_membership_required for an organization claim that %s', async (_what, org_id) => {
  const token = await signToken({ sub: 'alice', org_id });

  const { status, text } = await rest(gateway, 'GET', '/editor/auth', { token });
  const { errors } = await graphql(gateway, '{ editorAuth { needsReauth } }', {}, { token });

  expect(status).toBe(403);
  expect(JSON.parse(text)).toEqual({
    error: 'This operation requires membership in an organization.',
    code: 'org_membership_required',
  });
  expect(errors).toEqual([
    expect.objectContaining({ path: ['editorAuth'], extensions: { code: 'ORG_MEMBERSHIP_REQUIRED' } }),
  ]);
});

test('AUTH_ORG_CLAIM sets the name of the organization claim', async () => {
  const token = await signToken({ sub: 'alice', 'https://acme.test/org': 'acme' });
  const other = await signToken({ sub: 'alice', org_id: 'acme' });

  const statuses = [
    (await rest(renamed, 'GET', '/editor/auth', { token })).status,
    (await rest(renamed, 'GET', '/editor/auth', { token: other })).status,
    (await rest(gateway, 'GET', '/editor/auth', { token })).status,
  ];

  expect(statuses).toEqual([200, 403, 403]);
});

test('reports the missing scope if scope and membership are both missing', async () => {
  const token = await signToken({ sub: 'alice', scope: 'account:read' });

  const { body } = await rest(gateway, 'DELETE', '/editor/auth', { token });

  expect(body.code).toBe('forbidden');
});
