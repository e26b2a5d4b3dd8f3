import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { signToken } from './support/tokens.ts';

let gateway: TestGateway;
let renamed: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  renamed = await startTestGateway({ AUTH_ORG_CLAIM: 'https://acme.test/org' }, gateway.database);
});
afterAll(async () => {
  await renamed.close();
  await gateway.close();
});

test.each([
  ['text', 'acme'],
  ['a list of one', ['acme']],
  ['a list of several', ['acme', 'initech']],
])('an organization claim that is %s is membership', async (_what, org_id) => {
  const token = await signToken({ sub: 'alice', org_id });

  const { status } = await rest(gateway, 'GET', '/editor/auth', { token });

  expect(status).toBe(200);
});

test.each([
  ['is empty text', ''],
  ['is an empty list', []],
  ['is a list with empty text', ['acme', '']],
  ['is a list of numbers', [1]],
  ['is a number', 1],
  ['is true', true],
  ['is an object', { id: 'acme' }],
  ['is missing', null],
])('an organization claim that %s is no membership', async (_what, org_id) => {
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

test('AUTH_ORG_CLAIM names the claim that counts, and no other does', async () => {
  const token = await signToken({ sub: 'alice', 'https://acme.test/org': 'acme' });
  const other = await signToken({ sub: 'alice', org_id: 'acme' });

  const statuses = [
    (await rest(renamed, 'GET', '/editor/auth', { token })).status,
    (await rest(renamed, 'GET', '/editor/auth', { token: other })).status,
    (await rest(gateway, 'GET', '/editor/auth', { token })).status,
  ];

  expect(statuses).toEqual([200, 403, 403]);
});

test('where scope and membership are both missing the scope is told', async () => {
  const token = await signToken({ sub: 'alice', scope: 'account:read' });

  const { body } = await rest(gateway, 'DELETE', '/editor/auth', { token });

  expect(body.code).toBe('forbidden');
});
