import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPage, tableBelow } from '../support/documentation.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { notification } from '../support/records.ts';
import { signToken } from '../support/tokens.ts';

/* The claims of tokens as the identity providers of docs/security.md issue them, with the settings it recommends. */

type Claims = Record<string, unknown>;
const account = ['read', 'change'];

type Provider = {
  settings: Record<string, string>;
  user: Claims & { sub: string };
  service: Claims & { sub: string };
  tokens: [who: 'user' | 'service', claims: Claims, allowed: string[]][];
};

/** Each provider: the settings, the claims of users and of services, and tokens with what they allow. */
const providers: Readonly<Record<string, Provider>> = {
  Auth0: {
    settings: {},
    user: { azp: 'client-1', sub: 'auth0|507f1f77bcf86cd799439011' },
    service: { azp: 'client-1', sub: 'client-1@clients', gty: 'client-credentials' },
    tokens: [
      ['user', { scope: 'openid profile email' }, account],
      ['user', { scope: 'openid profile account:read', permissions: ['account:read'] }, ['read']],
      ['service', { scope: 'platform:notifications' }, ['publish']],
      ['service', {}, account],
    ],
  },
  Okta: {
    settings: {},
    user: { ver: 1, jti: 'AT.1', cid: '0oa1', uid: '00u1', sub: 'alice@example.com' },
    service: { ver: 1, jti: 'AT.2', cid: '0oa2', sub: '0oa2' },
    tokens: [
      ['user', { scp: ['openid', 'profile', 'offline_access'] }, account],
      ['user', { scp: ['openid', 'account:read'] }, ['read']],
      ['service', { scp: ['platform:notifications'] }, ['publish']],
    ],
  },
  'Microsoft Entra ID': {
    settings: { AUTH_SCOPE_CLAIMS: 'scp roles' },
    user: { ver: '2.0', tid: 'tenant-1', oid: 'object-1', azp: 'client-1', sub: 'pairwise-1' },
    service: { ver: '2.0', tid: 'tenant-1', oid: 'object-2', azp: 'client-2', sub: 'object-2' },
    tokens: [
      ['user', { scp: 'account:read' }, ['read']],
      ['user', { scp: 'account:read account:write' }, account],
      ['user', { scp: 'access_as_user' }, []],
      ['service', { roles: ['platform:admin'] }, ['delete users']],
      ['user', { scp: 'account:read', roles: ['platform:admin'] }, ['read', 'delete users']],
    ],
  },
  'Amazon Cognito': {
    settings: {
      AUTH_SCOPE_PREFIX: 'gateway/',
      AUTH_SIGN_IN_SCOPES: 'openid profile email phone aws.cognito.signin.user.admin',
    },
    user: { token_use: 'access', version: 2, client_id: '3n4b', username: 'alice', sub: 'user-1' },
    service: { token_use: 'access', version: 2, client_id: '3n4c', sub: '3n4c' },
    tokens: [
      ['user', { scope: 'openid email' }, account],
      // Without the managed login.
      ['user', { scope: 'aws.cognito.signin.user.admin' }, account],
      ['user', { scope: 'openid gateway/account:read' }, ['read']],
      ['user', { scope: 'openid orders/account:write account:write' }, []],
      ['service', { scope: 'gateway/platform:notifications' }, ['publish']],
    ],
  },
  Keycloak: {
    settings: {},
    user: { typ: 'Bearer', azp: 'web', sid: 'session-1', sub: 'f3a1' },
    service: { typ: 'Bearer', azp: 'web', sid: 'session-1', sub: 'f3a1' },
    tokens: [
      ['user', { scope: 'openid profile email' }, account],
      ['user', { scope: 'profile email account:read' }, ['read']],
      ['service', { scope: 'profile email platform:notifications' }, ['publish']],
    ],
  },
};
const tokens = Object.entries(providers).flatMap(([provider, { tokens, settings, ...claims }]) =>
  tokens.map(([who, given, allowed]) => ({
    provider,
    who,
    given,
    allowed,
    hasSettings: Object.keys(settings).length > 0,
    claims: { ...claims[who], ...given },
  })),
);

const gateways = new Map<string, TestGateway>();
const required = useGateway({ AUTH_REQUIRE_SCOPES: 'true' });
beforeAll(async () => {
  for (const [name, { settings }] of Object.entries(providers))
    gateways.set(name, await startTestGateway(settings, required.database));
});
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close();
});

/** Returns what a token allows. */
async function listAllowed({ as }: TestGateway, claims: Claims & { sub: string }): Promise<string[]> {
  const caller = as(() => signToken(claims));
  const isDone = async (sent: Promise<unknown>) =>
    (await Promise.allSettled([sent]))[0]?.status === 'fulfilled';
  const allowed = {
    read: (await caller.rest.get('/user/notifications')).status !== 403,
    change: (await caller.rest.post('/user/notifications/unknown/dismiss')).status !== 403,
    publish: await isDone(caller.publish(notification('bob'))),
    'delete users': await isDone(caller.deleteUser({ userId: 'nobody' })),
  };
  return Object.entries(allowed).flatMap(([name, isAllowed]) => (isAllowed ? [name] : []));
}

test('the documented settings of each provider are those of these tests', () => {
  const documented = tableBelow(readPage('docs/security.md'), 'Identity providers');

  expect(documented.map(([name]) => name)).toEqual(Object.keys(providers));
  for (const [name = '', , , text = ''] of documented) {
    const [setting] = Object.entries(providers[name]?.settings ?? {});
    if (setting === undefined) expect(text).toBe('none');
    else expect(text.replaceAll('"', '')).toContain(setting.join('='));
  }
});

test.each(tokens)('$provider: a $who with $given: $allowed', async ({ provider, claims, allowed }) => {
  const gateway = gateways.get(provider) ?? expect.unreachable(provider);
  expect(await listAllowed(gateway, claims)).toEqual(allowed);
});

test.each(tokens.filter(({ hasSettings }) => !hasSettings))(
  'with AUTH_REQUIRE_SCOPES=true, $provider: a $who with $given',
  async ({ claims, allowed }) => {
    const isScoped = /account:|platform:/.test(JSON.stringify(claims));
    expect(await listAllowed(required, claims)).toEqual(isScoped ? allowed : []);
  },
);
