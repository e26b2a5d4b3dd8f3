import { exportJWK, generateKeyPair } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { buildDocument, isSubscription, rootFields } from '../support/root-fields.ts';
import { subscribe } from '../support/sse.ts';
import { signToken } from '../support/tokens.ts';
import { badTokens } from './bad-tokens.ts';

const query = '{ workspaces { totalCount } }';
const rejected = { error: 'A valid bearer token is required.', code: 'unauthenticated', errors: [] };
const errors = [{ message: rejected.error, extensions: { code: 'UNAUTHENTICATED' } }];

const gateway = useGateway({ MAX_SUBSCRIBERS: '1', GRAPHIQL: 'true' });
const get = (request: { token?: string; headers?: Record<string, string> }) =>
  rest(gateway, 'GET', '/user/workspaces', request);

/** Expects that both APIs return 401 with a challenge. */
async function expectRejection(
  request: { token?: string; headers?: Record<string, string> },
  challenge: string,
): Promise<void> {
  const overRest = await get(request);
  const overGraphQL = await graphql(gateway, query, {}, request);
  expect([overRest.status, overGraphQL.status]).toEqual([401, 401]);
  expect([overRest.body, JSON.parse(overGraphQL.text)]).toEqual([rejected, { errors }]);
  for (const { headers } of [overRest, overGraphQL]) expect(headers.get('www-authenticate')).toBe(challenge);
}

test.each(badTokens)('rejects a token that %s', async (_what, make) => {
  await expectRejection({ token: await make() }, 'Bearer error="invalid_token"');
});

test.each([
  ['no Authorization header', undefined],
  ['an empty Authorization header', ''],
  ['another scheme', 'Basic YWxpY2U6c2VjcmV0'],
  ['a scheme that starts with Bearer', 'BearerX token'],
])('returns 401 without an error code for %s (RFC 6750, section 3.1)', async (_what, value) => {
  await expectRejection({ headers: value === undefined ? {} : { Authorization: value } }, 'Bearer');
});

test.each(['Basic', 'Digest', 'DPoP', 'Token', 'JWT', 'Negotiate'])(
  'ignores a valid token with the scheme %s',
  async (scheme) => {
    const Authorization = `${scheme} ${await signToken({ sub: 'alice' })}`;
    await expectRejection({ headers: { Authorization } }, 'Bearer');
  },
);

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
  expect((await get({ token: `${token}, Bearer ${token}` })).status).toBe(401);
});

test.each(['access_token', 'token', 'authorization', 'Authorization'])(
  'ignores a valid token in the query string (RFC 6750, section 2.3) or a cookie: %s',
  async (name) => {
    const token = await signToken({ sub: 'alice' });
    const sent = new URLSearchParams({ [name]: token, query });
    const headers = { Cookie: `${name}=${token}` };

    const overRest = await rest(gateway, 'GET', `/user/workspaces?${sent}`, { headers });
    const overGraphQL = await fetch(`${gateway.address}/graphql?${sent}`, { headers });

    expect([overRest.status, overGraphQL.status]).toEqual([401, 401]);
    expect(overRest.headers.get('www-authenticate')).toBe('Bearer');
  },
);

test('ignores a valid token in the body (RFC 6750, section 2.2)', async () => {
  const body = { preferences: [], access_token: await signToken({ sub: 'alice', org_id: 'acme' }) };
  expect((await rest(gateway, 'PUT', '/user/notification-preferences', { body })).status).toBe(401);
});

test.each(['bearer', 'BEARER'])('accepts the scheme %s (RFC 9110, section 11.1)', async (scheme) => {
  const headers = { Authorization: `${scheme} ${await signToken({ sub: 'alice' })}` };
  expect((await get({ headers })).status).toBe(200);
});

const now = () => Math.floor(Date.now() / 1000);

test.each<[what: string, claims: () => object]>([
  ['expired 2 s ago, within the clock tolerance of 5 s', () => ({ exp: now() - 2 })],
  ['is valid in 4 s, within the clock tolerance of 5 s', () => ({ nbf: now() + 4 })],
  ['has a subject of one character', () => ({ sub: 'a' })],
  ['has a subject of 255 characters', () => ({ sub: 'a'.repeat(255) })],
  ['has a subject of spaces and letters of any script', () => ({ sub: 'Ålice Ünïcode 用户' })],
  ['has several audiences', () => ({ aud: ['another-service', 'account-gateway'] })],
])('accepts a token that %s', async (_what, claims) => {
  expect((await get({ token: await signToken({ sub: 'alice', ...claims() }) })).status).toBe(200);
});

test('logs which check failed, without returning it', async () => {
  await get({ token: await signToken({ sub: 'alice', aud: 'other' }) });
  const refusals = gateway.logLines().filter((line) => line.includes('authentication failed'));
  expect(refusals.at(-1)).toContain('\\"aud\\"');
});

test('rejects an unsupported algorithm, even with a matching key in the key set', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES384');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'big', alg: 'ES384' }];
  const lenient = await startTestGateway({ AUTH_JWKS: JSON.stringify({ keys }) }, gateway.database);
  onTestFinished(() => lenient.close());
  const token = await signToken({ sub: 'alice' }, { key: privateKey, header: { alg: 'ES384', kid: 'big' } });
  expect((await rest(lenient, 'GET', '/user/workspaces', { token })).status).toBe(401);
});

test('returns 400 for a token that exceeds the maximum header size', async () => {
  const token = await signToken({ sub: 'alice', padding: 'a'.repeat(20_000) });
  const request = rawRequest('GET /user/workspaces', [`Authorization: Bearer ${token}`]);
  const { status, text } = await sendRaw(gateway, request);
  expect([status, JSON.parse(text).code]).toEqual([400, 'bad_request']);
});

test.each(Object.keys(rootFields).filter(isSubscription))(
  '%s returns 401 without a stream for an invalid token, and for none, with or without introspection',
  async (field) => {
    const document = buildDocument(field, {});
    const token = await signToken({ sub: 'alice', exp: 1 });
    const replies = [
      await subscribe(gateway, document, {}, { token }),
      await subscribe(gateway, document),
      await subscribe(gateway, `${document} query Other { __typename }`),
    ];
    for (const reply of replies)
      expect([reply.status, reply.stream, reply.errors]).toEqual([401, undefined, errors]);
    const challenges = replies.map(({ headers }) => headers.get('www-authenticate'));
    expect(challenges).toEqual(['Bearer error="invalid_token"', 'Bearer', 'Bearer']);

    const search = new URLSearchParams({ query: document, access_token: await signToken({ sub: 'alice' }) });
    const headers = { Accept: 'text/event-stream' };
    const byGet = await fetch(`${gateway.address}/graphql?${search}`, { headers });
    expect(byGet.status, 'a token in the query string').toBe(401);
    await byGet.text();
  },
);

test.each([
  ['an unknown argument', 'workspaceEvents(owner: "bob") { workspaceId }'],
  ['two root fields', 'workspaceEvents { workspaceId } editorAuthEvents { editorAuth { needsReauth } }'],
  ['a numeric cursor', 'notificationEvents(after: 1) { cursor }'],
])('a stream returns an error and ends for %s, and rejected ones use no slot', async (_what, selection) => {
  const token = await signToken({ sub: 'alice' });
  const { stream } = await subscribe(gateway, `subscription { ${selection} }`, {}, { token });
  expect((await stream?.take())?.errors[0].extensions.code).toBe('BAD_REQUEST');
  expect(await stream?.ended).toBe('complete');
});

test('a stream returns VALIDATION_FAILED for a variable of the wrong type', async () => {
  const events = 'subscription ($after: String) { notificationEvents(after: $after) { cursor } }';
  const token = await signToken({ sub: 'alice' });
  const { stream } = await subscribe(gateway, events, { after: { a: 1 } }, { token });
  expect((await stream?.take())?.errors[0].extensions).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'after' }],
  });
  expect(await stream?.ended).toBe('complete');
});
