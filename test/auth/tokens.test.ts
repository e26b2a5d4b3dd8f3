import { exportJWK, generateKeyPair } from 'jose';
import { expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { signToken } from '../support/tokens.ts';
import { badTokens } from './bad-tokens.ts';

const query = '{ workspaces { totalCount } }';
const rejected = { error: 'A valid bearer token is required.', code: 'unauthenticated', errors: [] };
const rejectedByGraphQL = {
  errors: [{ message: rejected.error, extensions: { code: 'UNAUTHENTICATED' } }],
};

const gateway = useGateway();

test.each(badTokens)('REST rejects a token that %s', async (_what, make) => {
  const { status, body, headers } = await rest(gateway, 'GET', '/user/workspaces', { token: await make() });

  expect(status).toBe(401);
  expect(body).toEqual(rejected);
  expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
});

test.each(badTokens)('GraphQL rejects a token that %s', async (_what, make) => {
  const { status, text, headers } = await graphql(gateway, query, {}, { token: await make() });

  expect(status).toBe(401);
  expect(JSON.parse(text)).toEqual(rejectedByGraphQL);
  expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
});

test.each([
  ['no Authorization header', undefined],
  ['an empty Authorization header', ''],
  ['another scheme', 'Basic YWxpY2U6c2VjcmV0'],
  ['a scheme that starts with Bearer', 'BearerX token'],
])('returns 401 without an error code for %s (RFC 6750, section 3.1)', async (_what, value) => {
  const headers = value === undefined ? {} : { Authorization: value };

  const overRest = await rest(gateway, 'GET', '/user/workspaces', { headers });
  const overGraphQL = await graphql(gateway, query, {}, { headers });

  expect([overRest.status, overGraphQL.status]).toEqual([401, 401]);
  expect([overRest.body, JSON.parse(overGraphQL.text)]).toEqual([rejected, rejectedByGraphQL]);
  expect(overRest.headers.get('www-authenticate')).toBe('Bearer');
  expect(overGraphQL.headers.get('www-authenticate')).toBe('Bearer');
});

test.each(['GET /user/workspaces', 'GET /graphql?query={workspaces{totalCount}}'])(
  'rejects two Authorization headers with valid tokens: %s',
  async (start) => {
    const line = `Authorization: Bearer ${await signToken({ sub: 'alice' })}`;
    const once = await sendRaw(gateway, rawRequest(start, [line]));

    const twice = await sendRaw(gateway, rawRequest(start, [line, line]));

    expect([once.status, twice.status]).toEqual([200, 401]);
  },
);

test('rejects two tokens in one Authorization header', async () => {
  const token = await signToken({ sub: 'alice' });

  const { status } = await rest(gateway, 'GET', '/user/workspaces', { token: `${token}, Bearer ${token}` });

  expect(status).toBe(401);
});

test('ignores a valid token in the query string (RFC 6750, section 2.3)', async () => {
  const token = await signToken({ sub: 'alice' });

  const { status, headers } = await rest(gateway, 'GET', `/user/workspaces?access_token=${token}`);

  expect(status).toBe(401);
  expect(headers.get('www-authenticate')).toBe('Bearer');
});

test('ignores a valid token in the body (RFC 6750, section 2.2)', async () => {
  const body = { preferences: [], access_token: await signToken({ sub: 'alice', org_id: 'acme' }) };

  const { status } = await rest(gateway, 'PUT', '/user/notification-preferences', { body });

  expect(status).toBe(401);
});

test.each(['bearer', 'BEARER'])('accepts the scheme %s (RFC 9110, section 11.1)', async (scheme) => {
  const headers = { Authorization: `${scheme} ${await signToken({ sub: 'alice' })}` };

  expect((await rest(gateway, 'GET', '/user/workspaces', { headers })).status).toBe(200);
});

test.each([
  ['expired 2 s ago', 'exp', -2],
  ['is valid in 4 s', 'nbf', 4],
])('accepts a token that %s, within the clock tolerance of 5 s', async (_what, claim, seconds) => {
  const token = await signToken({ sub: 'alice', [claim]: Math.floor(Date.now() / 1000) + seconds });

  expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(200);
});

test.each([
  ['one character', 'a'],
  ['255 characters', 'a'.repeat(255)],
  ['spaces and letters of any script', 'Ålice Ünïcode 用户'],
])('accepts a subject of %s', async (_what, sub) => {
  expect((await rest(gateway, 'GET', '/user/workspaces', { token: await signToken({ sub }) })).status).toBe(
    200,
  );
});

test('accepts a token with several audiences', async () => {
  const token = await signToken({ sub: 'alice', aud: ['another-service', 'account-gateway'] });

  expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(200);
});

test('logs which check failed, without returning it', async () => {
  await rest(gateway, 'GET', '/user/workspaces', { token: await signToken({ sub: 'alice', aud: 'other' }) });

  const refusals = gateway.logLines().filter((line) => line.includes('authentication failed'));
  expect(refusals.at(-1)).toContain('\\"aud\\"');
});

test('rejects an unsupported algorithm, even with a matching key in the key set', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES384');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'big', alg: 'ES384' }];
  const lenient = await startTestGateway({ AUTH_JWKS: JSON.stringify({ keys }) }, gateway.database);
  const token = await signToken({ sub: 'alice' }, { key: privateKey, header: { alg: 'ES384', kid: 'big' } });

  const { status } = await rest(lenient, 'GET', '/user/workspaces', { token });
  await lenient.close();

  expect(status).toBe(401);
});

test('returns 400 for a token that exceeds the maximum header size', async () => {
  const token = await signToken({ sub: 'alice', padding: 'a'.repeat(20_000) });

  const { status, text } = await sendRaw(
    gateway,
    rawRequest('GET /user/workspaces', [`Authorization: Bearer ${token}`]),
  );

  expect([status, JSON.parse(text).code]).toEqual([400, 'bad_request']);
});

test.each(['Basic', 'Digest', 'DPoP', 'Token', 'JWT', 'Negotiate'])(
  'ignores a valid token with the scheme %s',
  async (scheme) => {
    const headers = { Authorization: `${scheme} ${await signToken({ sub: 'alice' })}` };

    const overRest = await rest(gateway, 'GET', '/user/workspaces', { headers });
    const overGraphQL = await graphql(gateway, query, {}, { headers });

    expect([overRest.status, overGraphQL.status]).toEqual([401, 401]);
  },
);

test.each(['access_token', 'token', 'authorization', 'Authorization'])(
  'ignores a valid token in the query parameter or cookie %s',
  async (name) => {
    const token = await signToken({ sub: 'alice' });
    const sent = new URLSearchParams({ [name]: token, query });
    const headers = { Cookie: `${name}=${token}` };

    const overRest = await rest(gateway, 'GET', `/user/workspaces?${sent}`, { headers });
    const overGraphQL = await fetch(`${gateway.address}/graphql?${sent}`, { headers });

    expect([overRest.status, overGraphQL.status]).toEqual([401, 401]);
  },
);
