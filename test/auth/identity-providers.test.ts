import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { readPage, tableBelow } from '../support/documentation.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { signToken } from '../support/tokens.ts';

/* The claims of tokens as the identity providers of docs/security.md issue them, with the settings it recommends. */

const auth0 = { azp: 'client-1', sub: 'auth0|507f1f77bcf86cd799439011' };
const auth0Service = { azp: 'client-1', sub: 'client-1@clients', gty: 'client-credentials' };
const okta = { ver: 1, jti: 'AT.1', cid: '0oa1', uid: '00u1', sub: 'alice@example.com' };
const oktaService = { ver: 1, jti: 'AT.2', cid: '0oa2', sub: '0oa2' };
const entra = { ver: '2.0', tid: 'tenant-1', oid: 'object-1', azp: 'client-1', sub: 'pairwise-1' };
const entraService = { ver: '2.0', tid: 'tenant-1', oid: 'object-2', azp: 'client-2', sub: 'object-2' };
const cognito = { token_use: 'access', version: 2, client_id: '3n4b', username: 'alice', sub: 'user-1' };
const cognitoService = { token_use: 'access', version: 2, client_id: '3n4c', sub: '3n4c' };
const keycloak = { typ: 'Bearer', azp: 'web', sid: 'session-1', sub: 'f3a1' };

const providers = {
  Auth0: {},
  Okta: {},
  'Microsoft Entra ID': { AUTH_SCOPE_CLAIMS: 'scp roles' },
  'Amazon Cognito': {
    AUTH_SCOPE_PREFIX: 'gateway/',
    AUTH_SIGN_IN_SCOPES: 'openid profile email phone aws.cognito.signin.user.admin',
  },
  Keycloak: {},
} satisfies Record<string, Record<string, string>>;

type Provider = keyof typeof providers;
type Claims = Record<string, unknown> & { sub: string };
const account = ['read', 'change'];

const tokens: [provider: Provider, what: string, claims: Claims, allowed: string[]][] = [
  ['Auth0', 'a user who signed in', { ...auth0, scope: 'openid profile email' }, account],
  [
    'Auth0',
    'a user with an API scope',
    { ...auth0, scope: 'openid profile account:read', permissions: ['account:read'] },
    ['read'],
  ],
  ['Auth0', 'a service', { ...auth0Service, scope: 'platform:notifications' }, ['publish']],
  ['Auth0', 'a service without scopes', auth0Service, account],
  ['Okta', 'a user who signed in', { ...okta, scp: ['openid', 'profile', 'offline_access'] }, account],
  ['Okta', 'a user with an API scope', { ...okta, scp: ['openid', 'account:read'] }, ['read']],
  ['Okta', 'a service', { ...oktaService, scp: ['platform:notifications'] }, ['publish']],
  ['Microsoft Entra ID', 'a user with an API scope', { ...entra, scp: 'account:read' }, ['read']],
  [
    'Microsoft Entra ID',
    'a user with two API scopes',
    { ...entra, scp: 'account:read account:write' },
    account,
  ],
  ['Microsoft Entra ID', 'a user of another scope', { ...entra, scp: 'access_as_user' }, []],
  ['Microsoft Entra ID', 'a service', { ...entraService, roles: ['platform:admin'] }, ['delete users']],
  [
    'Microsoft Entra ID',
    'an operator with a role',
    { ...entra, scp: 'account:read', roles: ['platform:admin'] },
    ['read', 'delete users'],
  ],
  ['Amazon Cognito', 'a user who signed in', { ...cognito, scope: 'openid email' }, account],
  [
    'Amazon Cognito',
    'a user who signed in without the managed login',
    { ...cognito, scope: 'aws.cognito.signin.user.admin' },
    account,
  ],
  [
    'Amazon Cognito',
    'a user with an API scope',
    { ...cognito, scope: 'openid gateway/account:read' },
    ['read'],
  ],
  [
    'Amazon Cognito',
    'a user of another API',
    { ...cognito, scope: 'openid orders/account:write account:write' },
    [],
  ],
  [
    'Amazon Cognito',
    'a service',
    { ...cognitoService, scope: 'gateway/platform:notifications' },
    ['publish'],
  ],
  ['Keycloak', 'a user who signed in', { ...keycloak, scope: 'openid profile email' }, account],
  ['Keycloak', 'a user with an API scope', { ...keycloak, scope: 'profile email account:read' }, ['read']],
  ['Keycloak', 'a service', { ...keycloak, scope: 'profile email platform:notifications' }, ['publish']],
];

const gatewaySettings = new Map<string, Record<string, string>>(Object.entries(providers));
const gateways = new Map<string, TestGateway>();
let required: TestGateway;
beforeAll(async () => {
  required = await startTestGateway({ AUTH_REQUIRE_SCOPES: 'true' });
  for (const [name, settings] of gatewaySettings) {
    gateways.set(name, await startTestGateway(settings, required.database));
  }
});
afterAll(async () => {
  for (const gateway of [...gateways.values(), required]) await gateway.close();
});

const publish = `mutation {
  publishNotification(
    input: {
      userId: "bob"
      title: "A task failed"
      task: { id: "task-1", projectId: "project-1" }
      payload: { taskFailed: { taskStatus: ERRORED, message: "Exit status 2" } }
    }
  ) { created }
}`;
const deleteUser = 'mutation { deleteUser(input: { userId: "nobody" }) { deleted } }';

/** Returns what a token allows. */
async function listAllowed(gateway: TestGateway, claims: Claims): Promise<string[]> {
  const token = await signToken(claims);
  const overRest = async (method: string, path: string) =>
    (await rest(gateway, method, path, { token })).status !== 403;
  const overGraphQL = async (query: string) =>
    (await graphql(gateway, query, {}, { token })).errors.length === 0;
  const allowed = {
    read: await overRest('GET', '/user/notifications'),
    change: await overRest('POST', '/user/notifications/unknown/dismiss'),
    publish: await overGraphQL(publish),
    'delete users': await overGraphQL(deleteUser),
  };
  return Object.entries(allowed).flatMap(([name, isAllowed]) => (isAllowed ? [name] : []));
}

test('the documented settings of each provider are those of these tests', () => {
  const documented = tableBelow(readPage('docs/security.md'), 'Identity providers');

  expect(documented.map(([name]) => name)).toEqual(Object.keys(providers));
  for (const [name = '', , , text = ''] of documented) {
    const [setting] = Object.entries<string>(gatewaySettings.get(name) ?? {});
    if (setting === undefined) expect(text).toBe('none');
    else expect(text.replaceAll('"', '')).toContain(setting.join('='));
  }
});

test.each(tokens)('%s: the token of %s', async (provider, _what, claims, allowed) => {
  const gateway = gateways.get(provider) ?? expect.unreachable(provider);

  expect(await listAllowed(gateway, claims)).toEqual(allowed);
});

describe('with AUTH_REQUIRE_SCOPES=true', () => {
  const hasOwnScope = /account:|platform:/;
  const unprefixed = tokens.filter(([provider]) => ['Auth0', 'Okta', 'Keycloak'].includes(provider));

  test.each(unprefixed)('%s: the token of %s', async (_provider, _what, claims, allowed) => {
    const isScoped = hasOwnScope.test(JSON.stringify(claims));

    expect(await listAllowed(required, claims)).toEqual(isScoped ? allowed : []);
  });
});

test('a cached token keeps its meaning, and other tokens of the same user keep theirs', async () => {
  const gateway = gateways.get('Okta') ?? expect.unreachable();
  const exp = Math.floor(Date.now() / 1000) + 600;
  const limited = { ...okta, exp, scp: ['account:read'] };
  const signedIn = { ...okta, exp, scp: ['openid'] };
  const empty = { ...okta, exp, scp: [] };

  for (let round = 0; round < 3; round += 1) {
    expect(await listAllowed(gateway, limited)).toEqual(['read']);
    expect(await listAllowed(gateway, signedIn)).toEqual(account);
    expect(await listAllowed(gateway, empty)).toEqual([]);
  }
});
