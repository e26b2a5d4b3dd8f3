import { expect, onTestFinished, test } from 'vitest';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { signToken } from '../support/tokens.ts';

const gateway = useGateway();
const withClaims = (claims: object, { as } = gateway) => as(() => signToken({ sub: 'alice', ...claims }));

test.each([
  ['a string', 'acme'],
  ['an array with one string', ['acme']],
  ['an array with several strings', ['acme', 'initech']],
])('accepts an organization claim that is %s', async (_what, org_id) => {
  expect((await withClaims({ org_id }).rest.get('/editor/auth')).status).toBe(200);
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
  const { status, body } = await withClaims({ org_id }).rest.get('/editor/auth');
  expect(status).toBe(403);
  expect(body).toEqual({
    error: 'This operation requires membership in an organization.',
    code: 'org_membership_required',
  });
  const { errors } = await withClaims({ org_id }).graphql('{ editorAuth { needsReauth } }');
  expect(errors).toMatchObject([{ path: ['editorAuth'], extensions: { code: 'ORG_MEMBERSHIP_REQUIRED' } }]);
});

test('AUTH_ORG_CLAIM sets the name of the organization claim', async () => {
  const renamed = await startTestGateway({ AUTH_ORG_CLAIM: 'https://acme.test/org' }, gateway.database);
  onTestFinished(() => renamed.close());
  const other = { 'https://acme.test/org': 'acme' };
  const callers = [withClaims(other, renamed), withClaims({ org_id: 'acme' }, renamed), withClaims(other)];
  const replies = await Promise.all(callers.map((caller) => caller.rest.get('/editor/auth')));
  expect(replies.map(({ status }) => status)).toEqual([200, 403, 403]);
});

test('reports the missing scope if scope and membership are both missing', async () => {
  const { body } = await withClaims({ scope: 'account:read' }).rest.delete('/editor/auth');
  expect(body.code).toBe('forbidden');
});
