import { createHmac } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import { expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { buildDocument, isSubscription, rootFields } from '../support/root-fields.ts';
import { subscribe } from '../support/sse.ts';
import { AUDIENCE, ISSUER, jwks, signParts, signText, signToken } from '../support/tokens.ts';
import { forge, goodClaims } from './forge.ts';

const query = '{ workspaces { totalCount } }';
const rejected = { error: 'A valid bearer token is required.', code: 'unauthenticated', errors: [] };
const errors = [{ message: rejected.error, extensions: { code: 'UNAUTHENTICATED' } }];

const gateway = useGateway({ GRAPHIQL: 'true' });
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

const now = () => Math.floor(Date.now() / 1000);
const unknownKey = await generateKeyPair('EdDSA', { crv: 'Ed25519' });
const unknownJwk = await exportJWK(unknownKey.publicKey);

/** Signs with HS256, using the public key as the shared secret. */
const signWithPublicKey = (secret: string) =>
  forge({ alg: 'HS256', kid: 'test' }, (input) => createHmac('sha256', secret).update(input).digest());
const unsigned = (header: object) => forge(header, () => Buffer.alloc(0));

const good = { sub: 'alice', org_id: 'acme' };
const signWithUnknownKey = (header: Record<string, unknown>) =>
  signToken(good, { key: unknownKey.privateKey, header });

/** Signs a token whose `sub` has any type; {@link signToken} only accepts strings. */
const withSub = (sub: unknown) => signToken(Object.assign({ sub: '' }, { sub }));

const [jwk] = jwks.keys;

/** `none` in every combination of upper and lower case. */
const noneSpellings = Array.from({ length: 16 }, (_, bits) =>
  [...'none'].map((letter, index) => ((bits >> index) & 1 ? letter.toUpperCase() : letter)).join(''),
);

/** Signs a token whose claims override or extend valid ones. */
const withClaims = (given: object) => signText(JSON.stringify({ ...goodClaims(), ...given }));
/** Signs a token with a header that is given as JSON text. */
const withHeader = (text: string) => signParts(text, JSON.stringify(goodClaims()));
/** Signs a token with this JSON text among its claims. */
const withRawClaim = (text: string) =>
  signParts('{"alg":"EdDSA","kid":"test"}', JSON.stringify(goodClaims()).replace('{', `{${text},`));

/** Changes a part of a valid token: its header, payload or signature. */
async function change(part: 0 | 1 | 2, to: (text: string) => string): Promise<string> {
  const parts = (await signToken(good)).split('.');
  return parts.with(part, to(parts[part] ?? '')).join('.');
}
const signatureOf = async (sub: string) => (await signToken({ ...good, sub })).split('.')[2] ?? '';

/** Every kind of invalid token. */
const badTokens: readonly (readonly [what: string, token: () => Promise<string> | string])[] = [
  ['is not a JWT', () => 'not-a-jwt'],
  ['is empty', () => ''],
  ['has a tampered payload', () => change(1, (text) => text.replace(/^./, (c) => (c === 'e' ? 'f' : 'e')))],
  ['expired', () => signToken({ ...good, exp: now() - 60 })],
  ['is not valid yet', () => signToken({ ...good, nbf: now() + 60 })],
  ['is signed with an unknown key', () => signWithUnknownKey({})],
  ['has an unknown kid', () => signToken(good, { header: { kid: 'unknown' } })],
  ...noneSpellings.map((alg) => [`uses the algorithm ${alg}`, () => unsigned({ alg })] as const),
  ['uses the algorithm none with a kid', () => unsigned({ alg: 'none', kid: 'test' })],
  ['uses the algorithm none with a valid signature', () => withHeader('{"alg":"none","kid":"test"}')],
  ['has no algorithm', () => withHeader('{"kid":"test"}')],
  ['has an algorithm that is not a string', () => withHeader('{"alg":["EdDSA"],"kid":"test"}')],
  ['has no signature', () => change(2, () => '')],
  ['has no claims', () => change(1, () => '')],
  ['has four parts', () => change(2, (text) => `${text}.AAAA`)],
  ['has a signature of zeros', () => change(2, () => 'A'.repeat(86))],
  ['has the signature of another message', () => signatureOf('bob').then((other) => change(2, () => other))],
  ['has a file path as kid', () => signWithUnknownKey({ kid: '../../../../dev/null' })],
  ['has the kid __proto__', () => signWithUnknownKey({ kid: '__proto__' })],
  ['has a kid that is not a string', () => withHeader('{"alg":"EdDSA","kid":{}}')],
  ['is signed with HS256 and the public key’s x as the secret', () => signWithPublicKey(jwk?.x ?? '')],
  ['is signed with HS256 and the public JWK as the secret', () => signWithPublicKey(JSON.stringify(jwk))],
  ['contains its own key as jwk', () => signWithUnknownKey({ jwk: unknownJwk })],
  [
    'contains its own key as jwk, without a kid',
    () => signWithUnknownKey({ jwk: unknownJwk, kid: undefined }),
  ],
  ['refers to its own key by jku', () => signWithUnknownKey({ jku: 'https://stranger.test/jwks' })],
  ['refers to its own key by x5u', () => signWithUnknownKey({ x5u: 'https://stranger.test/cert' })],
  ['contains its own key as x5c', () => signWithUnknownKey({ x5c: ['AAAA'] })],
  ['has an unknown crit', () => signText(JSON.stringify(goodClaims()), { crit: ['x-new'], 'x-new': 1 })],
  ['has an empty crit', () => withHeader('{"alg":"EdDSA","kid":"test","crit":[]}')],
  [
    'has an unencoded payload, marked critical (RFC 7797)',
    () => withHeader('{"alg":"EdDSA","kid":"test","b64":false,"crit":["b64"]}'),
  ],
  [
    'has an unencoded payload, not marked critical (RFC 7797)',
    () => withHeader('{"alg":"EdDSA","kid":"test","b64":false}'),
  ],
  ['has two alg members', () => withHeader('{"alg":"none","alg":"EdDSA","kid":"test"}')],
  ['has two kid members', () => withHeader('{"alg":"EdDSA","kid":"other","kid":"test"}')],
  ['has two sub claims', () => withRawClaim('"sub":"bob"')],
  ['has two sub claims, one of them escaped', () => withRawClaim('"s\\u0075b":"bob"')],
  ['has a duplicate member within a claim', () => withRawClaim('"org":{"id":1,"id":2}')],
  ['has claims that are not an object', () => signText('["alice"]')],
  ['has claims that are not JSON', () => signText('alice')],
  ['has another issuer', () => signToken({ ...good, iss: 'https://stranger.test' })],
  ['has no issuer', () => signToken({ ...good, iss: null })],
  ['has an array containing the issuer as issuer', () => signToken({ ...good, iss: [ISSUER] })],
  [
    'has an issuer with the expected issuer as prefix',
    () => signToken({ ...good, iss: `${ISSUER}.stranger.test` }),
  ],
  ['has another audience', () => signToken({ ...good, aud: 'another-service' })],
  ['has other audiences', () => signToken({ ...good, aud: ['another-service', `${AUDIENCE}-2`] })],
  ['has an empty array of audiences', () => signToken({ ...good, aud: [] })],
  ['has an audience in an object', () => signToken({ ...good, aud: { [AUDIENCE]: true } })],
  ['has no audience', () => signToken({ ...good, aud: null })],
  ['never expires', () => signToken({ ...good, exp: null })],
  ['has an expiry that is a string', () => signToken({ ...good, exp: String(now() + 3600) })],
  ...[null, true, [], {}, 'Infinity', -1, 0].map(
    (exp) => [`has the expiry ${JSON.stringify(exp)}`, () => withClaims({ exp })] as const,
  ),
  ['has an nbf that is a string', () => withClaims({ nbf: 'now' })],
  ['has an iat that is a string', () => withClaims({ iat: 'now' })],
  [
    'has an infinite expiry',
    () => signText(JSON.stringify({ ...goodClaims(), exp: 0 }).replace('"exp":0', '"exp":1e400')),
  ],
  ['has no subject', () => withSub(null)],
  ['has an empty subject', () => withSub('')],
  ['has a number as subject', () => withSub(7)],
  ['has an array as subject', () => withSub(['alice'])],
  ['has an object as subject', () => withSub({ toString: 'alice' })],
  ['has a subject of 256 characters', () => withSub('a'.repeat(256))],
  ['has a subject with U+0000', () => withSub('a\0b')],
  ['has a subject with a lone surrogate', () => withSub('a\ud800b')],
  ['has a scope that is not a string', () => withClaims({ scope: 1 })],
  ['has an scp with an item that is not a string', () => withClaims({ scp: ['account:read', 1] })],
];

test.each(badTokens)('rejects a token that %s', async (_what, make) => {
  await expectRejection({ token: await make() }, 'Bearer error="invalid_token"');
});

test.each<readonly [what: string, scheme?: string]>([
  ['no Authorization header'],
  ['an empty Authorization header', ''],
  ...['Basic', 'Digest', 'DPoP', 'Token', 'JWT', 'BearerX'].map(
    (scheme) => [`a valid token with the scheme ${scheme}`, `${scheme} `] as const,
  ),
])('returns 401 without an error code for %s (RFC 6750, section 3.1)', async (_what, scheme) => {
  const Authorization = scheme && `${scheme}${await signToken(good)}`;
  await expectRejection({ headers: Authorization === undefined ? {} : { Authorization } }, 'Bearer');
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
