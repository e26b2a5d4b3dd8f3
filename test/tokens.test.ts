import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { badTokens } from './support/bad-tokens.ts';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { rawRequest, sendRaw } from './support/raw.ts';
import { signToken } from './support/tokens.ts';

const query = '{ workspaces { totalCount } }';
const refused = { error: 'A valid bearer token is required.', code: 'unauthenticated', errors: [] };
const refusedByGraphQL = {
  errors: [{ message: refused.error, extensions: { code: 'UNAUTHENTICATED' } }],
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

test.each(badTokens)('a token that %s is refused over REST', async (_what, make) => {
  const { status, body, headers } = await rest(gateway, 'GET', '/user/workspaces', { token: await make() });

  expect(status).toBe(401);
  expect(body).toEqual(refused);
  expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
});

test.each(badTokens)('a token that %s is refused over GraphQL', async (_what, make) => {
  const { status, text, headers } = await graphql(gateway, query, {}, { token: await make() });

  expect(status).toBe(401);
  expect(JSON.parse(text)).toEqual(refusedByGraphQL);
  expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
});

test.each([
  ['no Authorization header', undefined],
  ['an empty Authorization header', ''],
  ['another scheme', 'Basic YWxpY2U6c2VjcmV0'],
  ['a scheme that begins like Bearer', 'BearerX token'],
])(
  '%s is a 401 that names no error of a token, as none was sent (RFC 6750, section 3.1)',
  async (_what, value) => {
    const headers = value === undefined ? {} : { Authorization: value };

    const overRest = await rest(gateway, 'GET', '/user/workspaces', { headers });
    const overGraphQL = await graphql(gateway, query, {}, { headers });

    expect([overRest.status, overGraphQL.status]).toEqual([401, 401]);
    expect([overRest.body, JSON.parse(overGraphQL.text)]).toEqual([refused, refusedByGraphQL]);
    expect(overRest.headers.get('www-authenticate')).toBe('Bearer');
    expect(overGraphQL.headers.get('www-authenticate')).toBe('Bearer');
  },
);

test.each(['GET /user/workspaces', 'GET /graphql?query={workspaces{totalCount}}'])(
  'two Authorization headers with good tokens are refused: %s',
  async (start) => {
    const line = `Authorization: Bearer ${await signToken({ sub: 'alice' })}`;
    const once = await sendRaw(gateway, rawRequest(start, [line]));

    const twice = await sendRaw(gateway, rawRequest(start, [line, line]));

    expect([once.status, twice.status]).toEqual([200, 401]);
  },
);

test('two tokens in one Authorization header are refused', async () => {
  const token = await signToken({ sub: 'alice' });

  const { status } = await rest(gateway, 'GET', '/user/workspaces', { token: `${token}, Bearer ${token}` });

  expect(status).toBe(401);
});

test('a good token in the query string is not read (RFC 6750, section 2.3)', async () => {
  const token = await signToken({ sub: 'alice' });

  const { status, headers } = await rest(gateway, 'GET', `/user/workspaces?access_token=${token}`);

  expect(status).toBe(401);
  expect(headers.get('www-authenticate')).toBe('Bearer');
});

test('a good token in the body is not read (RFC 6750, section 2.2)', async () => {
  const body = { preferences: [], access_token: await signToken({ sub: 'alice', org_id: 'acme' }) };

  const { status } = await rest(gateway, 'PUT', '/user/notification-preferences', { body });

  expect(status).toBe(401);
});

test.each(['bearer', 'BEARER'])('the scheme may be written %s (RFC 9110, section 11.1)', async (scheme) => {
  const headers = { Authorization: `${scheme} ${await signToken({ sub: 'alice' })}` };

  expect((await rest(gateway, 'GET', '/user/workspaces', { headers })).status).toBe(200);
});

test.each([
  ['expired 2 s ago', 'exp', -2],
  ['is valid in 4 s', 'nbf', 4],
])('a token that %s holds within the clock tolerance of 5 s', async (_what, claim, seconds) => {
  const token = await signToken({ sub: 'alice', [claim]: Math.floor(Date.now() / 1000) + seconds });

  expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(200);
});

test.each([
  ['one character', 'a'],
  ['255 characters', 'a'.repeat(255)],
  ['spaces and letters of any script', 'Ålice Ünïcode 用户'],
])('a subject of %s is a user', async (_what, sub) => {
  expect((await rest(gateway, 'GET', '/user/workspaces', { token: await signToken({ sub }) })).status).toBe(
    200,
  );
});

test('an audience among several holds', async () => {
  const token = await signToken({ sub: 'alice', aud: ['somebody-else', 'account-gateway'] });

  expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(200);
});

test('the log says which check failed, the body does not', async () => {
  await rest(gateway, 'GET', '/user/workspaces', { token: await signToken({ sub: 'alice', aud: 'other' }) });

  const refusals = gateway.logLines().filter((line) => line.includes('token rejected'));
  expect(refusals.at(-1)).toContain('\\"aud\\"');
});

test('an algorithm outside of the list is refused even where the key set has a key for it', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES384');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'big', alg: 'ES384' }];
  const lenient = await startTestGateway({ AUTH_JWKS: JSON.stringify({ keys }) }, gateway.database);
  const token = await signToken({ sub: 'alice' }, { key: privateKey, header: { alg: 'ES384', kid: 'big' } });

  const { status } = await rest(lenient, 'GET', '/user/workspaces', { token });
  await lenient.close();

  expect(status).toBe(401);
});

test('a token that is larger than headers may be is a 400, and never read', async () => {
  const token = await signToken({ sub: 'alice', padding: 'a'.repeat(20_000) });

  const { status, text } = await sendRaw(
    gateway,
    rawRequest('GET /user/workspaces', [`Authorization: Bearer ${token}`]),
  );

  expect([status, JSON.parse(text).code]).toEqual([400, 'bad_request']);
});

test.each(['Basic', 'Digest', 'DPoP', 'Token', 'JWT', 'Negotiate'])(
  'a good token under the scheme %s is not read',
  async (scheme) => {
    const headers = { Authorization: `${scheme} ${await signToken({ sub: 'alice' })}` };

    const overRest = await rest(gateway, 'GET', '/user/workspaces', { headers });
    const overGraphQL = await graphql(gateway, query, {}, { headers });

    expect([overRest.status, overGraphQL.status]).toEqual([401, 401]);
  },
);

test.each(['access_token', 'token', 'authorization', 'Authorization'])(
  'a good token in the query parameter or the cookie %s is not read',
  async (name) => {
    const token = await signToken({ sub: 'alice' });
    const sent = new URLSearchParams({ [name]: token, query });
    const headers = { Cookie: `${name}=${token}` };

    const overRest = await rest(gateway, 'GET', `/user/workspaces?${sent}`, { headers });
    const overGraphQL = await fetch(`${gateway.address}/graphql?${sent}`, { headers });

    expect([overRest.status, overGraphQL.status]).toEqual([401, 401]);
  },
);
