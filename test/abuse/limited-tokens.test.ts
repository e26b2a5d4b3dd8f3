import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { buildDocument, goodArguments, isSubscription } from '../support/root-fields.ts';
import { subscribe } from '../support/sse.ts';
import { signToken } from '../support/tokens.ts';

/*
 * A token that was issued for little is used for more: a claim that the gateway does not read, or does not understand,
 * must not count as a token without scopes.
 */

const gateway = useGateway();
let prefixed: TestGateway;
beforeAll(async () => {
  prefixed = await startTestGateway({ AUTH_SCOPE_PREFIX: 'gateway/' }, gateway.database);
});
afterAll(() => prefixed.close());

const fields = Object.keys(goodArguments);

/** Returns the root fields that a token may use. */
async function listAllowed(of: TestGateway, claims: object, names = fields): Promise<string[]> {
  const token = await signToken({ sub: 'mallory', org_id: 'acme', ...claims });
  const allowed: string[] = [];
  for (const name of names) {
    const given = goodArguments[name]?.('mallory') ?? {};
    const send = isSubscription(name) ? subscribe : graphql;
    const reply = await send(of, buildDocument(name, given), given, { token });
    if ('stream' in reply) reply.stream?.close();
    if (reply.errors[0]?.extensions.code !== 'FORBIDDEN') allowed.push(name);
  }
  return allowed;
}

test.each([
  ['a string in scp', { scp: 'account:read' }],
  ['an array in scp', { scp: ['account:read'] }],
  ['an array in scope', { scope: ['account:read'] }],
  ['scp, and sign-in scopes in scope', { scope: 'openid profile', scp: ['account:read'] }],
])('a token limited to account:read by %s changes nothing', async (_what, claims) => {
  const allowed = await listAllowed(gateway, claims);

  expect(allowed).toEqual(await listAllowed(gateway, { scope: 'account:read' }));
  expect(allowed).toContain('notifications');
  expect(allowed).not.toContain('dismissNotification');
  const token = await signToken({ sub: 'mallory', org_id: 'acme', ...claims });
  const { status, headers } = await rest(gateway, 'DELETE', '/editor/auth', { token });
  expect([status, headers.get('www-authenticate')]).toEqual([403, 'Bearer error="insufficient_scope"']);
});

test.each([
  ['is empty', { scope: '' }],
  ['is an empty array', { scp: [] }],
  ['names a scope of another API', { scope: 'openid orders:read' }],
  ['names several scopes in one string of an array', { scp: ['account:read account:write'] }],
])('a token whose scope claim %s has no access', async (_what, claims) => {
  expect(await listAllowed(gateway, claims)).toEqual([]);
});

test.each([
  ['without the prefix', { scope: 'account:write platform:write' }],
  ['with the prefix of another API', { scope: 'openid orders/account:write' }],
  ['with the prefix twice', { scope: 'gateway/gateway/platform:admin' }],
])('a scope %s is not one of a gateway with a prefix', async (_what, claims) => {
  expect(await listAllowed(prefixed, claims)).toEqual([]);
});

describe('the token of a workspace, which publishes notifications,', () => {
  test('does nothing else', async () => {
    expect((await listAllowed(gateway, { scope: 'platform:notifications' })).sort()).toEqual([
      'acknowledgeAnswer',
      'publishNotification',
      'publishNotifications',
      'request',
      'resolveNotifications',
    ]);
  });

  test('is refused with the name of the narrow scope', async () => {
    const token = await signToken({ sub: 'workspace', scope: 'platform:notifications' });
    const query = 'mutation { deleteUser(input: { userId: "alice" }) { deleted } }';
    const { errors } = await graphql(gateway, query, {}, { token });
    expect(errors[0].message).toBe('This operation requires a token with the scope "platform:admin".');
  });
});

test('platform:write neither reads accounts nor concerns editor credentials', async () => {
  const allowed = await listAllowed(gateway, { scope: 'platform:write' });

  expect(allowed).toContain('deleteUser');
  for (const name of [
    'notifications',
    'users',
    'statistics',
    'editorCredential',
    'reportEditorAuthFailure',
  ]) {
    expect(allowed).not.toContain(name);
  }
});
