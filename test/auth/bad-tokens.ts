import { createHmac } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import { AUDIENCE, ISSUER, jwks, signParts, signText, signToken } from '../support/tokens.ts';

const unknownKey = await generateKeyPair('EdDSA', { crv: 'Ed25519' });
const unknownJwk = await exportJWK(unknownKey.publicKey);
const now = () => Math.floor(Date.now() / 1000);

/** Builds a token with a signature that no JWT library would create. */
function assemble(header: object, claims: object, sign: (input: string) => string): string {
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${input}.${sign(input)}`;
}

const claims = () => ({ sub: 'alice', iss: ISSUER, aud: AUDIENCE, exp: now() + 3600 });

/** Signs with HS256, using the public key as the shared secret. */
function signWithPublicKey(secret: string): string {
  return assemble({ alg: 'HS256', kid: 'test' }, claims(), (input) =>
    createHmac('sha256', secret).update(input).digest('base64url'),
  );
}

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
const withClaims = (given: object) => signText(JSON.stringify({ ...claims(), ...given }));
const header = '{"alg":"EdDSA","kid":"test"}';
/** Signs a token with this JSON text among its claims. */
const withRawClaim = (text: string) => signParts(header, JSON.stringify(claims()).replace('{', `{${text},`));

/** Rebuilds a valid token from its parts. */
async function rebuildToken(join: (header: string, payload: string, signature: string) => string) {
  const [first = '', payload = '', signature = ''] = (await signToken(good)).split('.');
  return join(first, payload, signature);
}

/** Every kind of invalid token. */
export const badTokens: readonly (readonly [what: string, token: () => Promise<string> | string])[] = [
  ['is not a JWT', () => 'not-a-jwt'],
  ['has three empty parts', () => '..'],
  ['is empty', () => ''],
  [
    'has a tampered payload',
    async () => (await signToken(good)).replace(/\.(.)/, (_all, c) => `.${c === 'e' ? 'f' : 'e'}`),
  ],
  ['has a truncated signature', async () => (await signToken(good)).slice(0, -10)],
  ['expired', () => signToken({ ...good, exp: now() - 60 })],
  ['is not valid yet', () => signToken({ ...good, nbf: now() + 60 })],
  ['is signed with an unknown key', () => signWithUnknownKey({})],
  ['has an unknown kid', () => signToken(good, { header: { kid: 'unknown' } })],
  ...noneSpellings.map(
    (alg) => [`uses the algorithm ${alg}`, () => assemble({ alg }, claims(), () => '')] as const,
  ),
  ['uses the algorithm none with a kid', () => assemble({ alg: 'none', kid: 'test' }, claims(), () => '')],
  [
    'uses the algorithm none with a valid signature',
    () => signParts('{"alg":"none","kid":"test"}', JSON.stringify(claims())),
  ],
  ['has no algorithm', () => signParts('{"kid":"test"}', JSON.stringify(claims()))],
  [
    'has an algorithm that is not a string',
    () => signParts('{"alg":["EdDSA"],"kid":"test"}', JSON.stringify(claims())),
  ],
  ['has no signature', () => rebuildToken((first, payload) => `${first}.${payload}.`)],
  ['has no claims', () => rebuildToken((first, _payload, signature) => `${first}..${signature}`)],
  ['has four parts', () => rebuildToken((...parts) => [...parts, 'AAAA'].join('.'))],
  [
    'has five parts, like an encrypted JWT',
    () => rebuildToken((...parts) => [...parts, 'AAAA', 'AAAA'].join('.')),
  ],
  [
    'has a signature of zeros',
    () => rebuildToken((first, payload) => `${first}.${payload}.${'A'.repeat(86)}`),
  ],
  [
    'has the signature of another message',
    async () => {
      const [, , signature] = (await signToken({ ...good, sub: 'bob' })).split('.');
      return rebuildToken((first, payload) => `${first}.${payload}.${signature}`);
    },
  ],
  ['has a file path as kid', () => signWithUnknownKey({ kid: '../../../../dev/null' })],
  ['has SQL as kid', () => signWithUnknownKey({ kid: "' union select 'AAAA' --" })],
  ['has the kid __proto__', () => signWithUnknownKey({ kid: '__proto__' })],
  ['has a kid that is not a string', () => signParts('{"alg":"EdDSA","kid":{}}', JSON.stringify(claims()))],
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
  ['has an unknown crit', () => signText(JSON.stringify(claims()), { crit: ['x-new'], 'x-new': 1 })],
  ['has an empty crit', () => signParts('{"alg":"EdDSA","kid":"test","crit":[]}', JSON.stringify(claims()))],
  [
    'has an unencoded payload, marked critical (RFC 7797)',
    () => signParts('{"alg":"EdDSA","kid":"test","b64":false,"crit":["b64"]}', JSON.stringify(claims())),
  ],
  [
    'has an unencoded payload, not marked critical (RFC 7797)',
    () => signParts('{"alg":"EdDSA","kid":"test","b64":false}', JSON.stringify(claims())),
  ],
  [
    'has two alg members',
    () => signParts('{"alg":"none","alg":"EdDSA","kid":"test"}', JSON.stringify(claims())),
  ],
  [
    'has two kid members',
    () => signParts('{"alg":"EdDSA","kid":"other","kid":"test"}', JSON.stringify(claims())),
  ],
  ['has two sub claims', () => withRawClaim('"sub":"bob"')],
  ['has two sub claims, one of them escaped', () => withRawClaim('"s\\u0075b":"bob"')],
  ['has two exp claims', () => withRawClaim('"exp":1')],
  ['has two scope claims', () => withRawClaim('"scope":"","scope":"account:read"')],
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
  ['has an issuer with a trailing slash', () => signToken({ ...good, iss: `${ISSUER}/` })],
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
    () => signText(JSON.stringify({ ...claims(), exp: 0 }).replace('"exp":0', '"exp":1e400')),
  ],
  ['has no subject', () => withSub(null)],
  ['has an empty subject', () => withSub('')],
  ['has a number as subject', () => withSub(7)],
  ['has null as subject', () => signText(JSON.stringify({ ...claims(), sub: null }))],
  ['has an array as subject', () => withSub(['alice'])],
  ['has an object as subject', () => withSub({ toString: 'alice' })],
  ['has a subject of 10,000 characters', () => withSub('a'.repeat(10_000))],
  ['has a subject of 256 characters', () => withSub('a'.repeat(256))],
  ['has a subject with U+0000', () => withSub('a\0b')],
  ['has a subject with a lone surrogate', () => withSub('a\ud800b')],
  ...['scope', 'scp'].flatMap((claim) =>
    [1, true, null, {}, ['account:read', 1], [['account:read']]].map(
      (value) => [`has ${JSON.stringify(value)} as ${claim}`, () => withClaims({ [claim]: value })] as const,
    ),
  ),
];
