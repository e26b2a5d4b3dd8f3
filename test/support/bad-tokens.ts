import { createHmac } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import { AUDIENCE, ISSUER, jwks, signParts, signText, signToken } from './tokens.ts';

const stranger = await generateKeyPair('EdDSA', { crv: 'Ed25519' });
const strangersJwk = await exportJWK(stranger.publicKey);
const now = () => Math.floor(Date.now() / 1000);

/** A token with claims as they are written, signed as nobody signs: without a key, or with the public one. */
function assemble(header: object, claims: object, sign: (input: string) => string): string {
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${input}.${sign(input)}`;
}

const claims = () => ({ sub: 'alice', iss: ISSUER, aud: AUDIENCE, exp: now() + 3600 });

/** Signs with anything a confused verifier might take for a shared secret. */
function signedWithPublicKey(secret: string): string {
  return assemble({ alg: 'HS256', kid: 'test' }, claims(), (input) =>
    createHmac('sha256', secret).update(input).digest('base64url'),
  );
}

const good = { sub: 'alice', org_id: 'acme' };
const strangers = (header: Record<string, unknown>) => signToken(good, { key: stranger.privateKey, header });

/** `sub` of any type; the type of {@link signToken} is for good tokens. */
const withSub = (sub: unknown) => signToken(Object.assign({ sub: '' }, { sub }));

const [jwk] = jwks.keys;

/** `none` in every way to write it with capitals. */
const nones = Array.from({ length: 16 }, (_, bits) =>
  [...'none'].map((letter, index) => ((bits >> index) & 1 ? letter.toUpperCase() : letter)).join(''),
);

/** A well signed token with these claims beside or in place of good ones. */
const withClaims = (given: object) => signText(JSON.stringify({ ...claims(), ...given }));
const header = '{"alg":"EdDSA","kid":"test"}';
/** A well signed token with this text among its claims. */
const withText = (text: string) => signParts(header, JSON.stringify(claims()).replace('{', `{${text},`));

/** The parts of a good token, put together anew. */
async function reassembled(join: (header: string, payload: string, signature: string) => string) {
  const [first = '', payload = '', signature = ''] = (await signToken(good)).split('.');
  return join(first, payload, signature);
}

const encode = (text: string) => Buffer.from(text).toString('base64url');

/** Every way in which a token does not hold, with the token. */
export const badTokens: readonly (readonly [what: string, token: () => Promise<string> | string])[] = [
  ['is no JWT', () => 'not-a-jwt'],
  ['has three empty parts', () => '..'],
  ['is empty', () => ''],
  [
    'has a tampered payload',
    async () => (await signToken(good)).replace(/\.(.)/, (_all, c) => `.${c === 'e' ? 'f' : 'e'}`),
  ],
  ['has a cut signature', async () => (await signToken(good)).slice(0, -10)],
  ['expired', () => signToken({ ...good, exp: now() - 60 })],
  ['is not valid yet', () => signToken({ ...good, nbf: now() + 60 })],
  ['is signed by a stranger’s key', () => strangers({})],
  ['names an unknown key', () => strangers({ kid: 'unknown' })],
  ...nones.map((alg) => [`has the algorithm ${alg}`, () => assemble({ alg }, claims(), () => '')] as const),
  ['has the algorithm none and a key id', () => assemble({ alg: 'none', kid: 'test' }, claims(), () => '')],
  [
    'has the algorithm none over a good signature',
    () => reassembled((_header, payload, signature) => `${encode('{"alg":"none"}')}.${payload}.${signature}`),
  ],
  ['has no algorithm', () => assemble({ kid: 'test' }, claims(), () => 'AAAA')],
  [
    'has an algorithm that is no text',
    () => assemble({ alg: ['EdDSA'], kid: 'test' }, claims(), () => 'AAAA'),
  ],
  ['has no signature', () => reassembled((first, payload) => `${first}.${payload}.`)],
  ['has no claims', () => reassembled((first, _payload, signature) => `${first}..${signature}`)],
  ['has four parts', () => reassembled((...parts) => [...parts, 'AAAA'].join('.'))],
  [
    'has the five parts of an encrypted one',
    () => reassembled((...parts) => [...parts, 'AAAA', 'AAAA'].join('.')),
  ],
  [
    'has a signature of zeros',
    () => reassembled((first, payload) => `${first}.${payload}.${'A'.repeat(86)}`),
  ],
  [
    'has the signature of another message',
    async () => {
      const [, , signature] = (await signToken({ ...good, sub: 'bob' })).split('.');
      return reassembled((first, payload) => `${first}.${payload}.${signature}`);
    },
  ],
  ['names a key by a path', () => strangers({ kid: '../../../../dev/null' })],
  ['names a key by SQL', () => strangers({ kid: "' union select 'AAAA' --" })],
  ['names a key by what every object has', () => strangers({ kid: '__proto__' })],
  [
    'names a key by something that is no text',
    () => assemble({ alg: 'EdDSA', kid: {} }, claims(), () => 'AAAA'),
  ],
  ['is HS256 with the public key’s x as the secret', () => signedWithPublicKey(jwk?.x ?? '')],
  ['is HS256 with the public JWK as the secret', () => signedWithPublicKey(JSON.stringify(jwk))],
  ['brings its own key as jwk', () => strangers({ jwk: strangersJwk })],
  ['brings its own key as jwk, without a kid', () => strangers({ jwk: strangersJwk, kid: undefined })],
  ['brings its own key as jku', () => strangers({ jku: 'https://stranger.test/jwks' })],
  ['brings its own key as x5u', () => strangers({ x5u: 'https://stranger.test/cert' })],
  ['brings its own key as x5c', () => strangers({ x5c: ['AAAA'] })],
  ['has an unknown crit', () => signText(JSON.stringify(claims()), { crit: ['x-new'], 'x-new': 1 })],
  ['has an empty crit', () => signParts('{"alg":"EdDSA","kid":"test","crit":[]}', JSON.stringify(claims()))],
  [
    'is said to be unencoded (RFC 7797)',
    () => signParts('{"alg":"EdDSA","kid":"test","b64":false,"crit":["b64"]}', JSON.stringify(claims())),
  ],
  [
    'is said to be unencoded, and that this may be overlooked',
    () => signParts('{"alg":"EdDSA","kid":"test","b64":false}', JSON.stringify(claims())),
  ],
  [
    'names its algorithm twice',
    () => signParts('{"alg":"none","alg":"EdDSA","kid":"test"}', JSON.stringify(claims())),
  ],
  [
    'names its key twice',
    () => signParts('{"alg":"EdDSA","kid":"other","kid":"test"}', JSON.stringify(claims())),
  ],
  ['names its subject twice', () => withText('"sub":"bob"')],
  ['names its subject twice, once escaped', () => withText('"s\\u0075b":"bob"')],
  ['names its expiry twice', () => withText('"exp":1')],
  ['names its scope twice', () => withText('"scope":"","scope":"account:read"')],
  ['names a member within a claim twice', () => withText('"org":{"id":1,"id":2}')],
  ['has claims that are no object', () => signText('["alice"]')],
  ['has claims that are not JSON', () => signText('alice')],
  ['has another issuer', () => signToken({ ...good, iss: 'https://stranger.test' })],
  ['has no issuer', () => signToken({ ...good, iss: null })],
  ['has a list with the issuer as issuer', () => signToken({ ...good, iss: [ISSUER] })],
  ['has an issuer that begins alike', () => signToken({ ...good, iss: `${ISSUER}.stranger.test` })],
  ['has an issuer with a slash more', () => signToken({ ...good, iss: `${ISSUER}/` })],
  ['has another audience', () => signToken({ ...good, aud: 'somebody-else' })],
  ['has other audiences', () => signToken({ ...good, aud: ['somebody-else', `${AUDIENCE}-2`] })],
  ['has an empty list of audiences', () => signToken({ ...good, aud: [] })],
  ['has an audience in an object', () => signToken({ ...good, aud: { [AUDIENCE]: true } })],
  ['has no audience', () => signToken({ ...good, aud: null })],
  ['never expires', () => signToken({ ...good, exp: null })],
  ['has an expiry that is text', () => signToken({ ...good, exp: String(now() + 3600) })],
  ...[null, true, [], {}, 'Infinity', -1, 0].map(
    (exp) => [`has the expiry ${JSON.stringify(exp)}`, () => withClaims({ exp })] as const,
  ),
  ['has a start that is text', () => withClaims({ nbf: 'now' })],
  ['has an issue time that is text', () => withClaims({ iat: 'now' })],
  [
    'has an infinite expiry',
    () => signText(JSON.stringify({ ...claims(), exp: 0 }).replace('"exp":0', '"exp":1e400')),
  ],
  ['has no subject', () => withSub(null)],
  ['has an empty subject', () => withSub('')],
  ['has a number as subject', () => withSub(7)],
  ['has null as subject', () => signText(JSON.stringify({ ...claims(), sub: null }))],
  ['has a list as subject', () => withSub(['alice'])],
  ['has an object as subject', () => withSub({ toString: 'alice' })],
  ['has a subject of 10,000 characters', () => withSub('a'.repeat(10_000))],
  ['has a subject of 256 characters', () => withSub('a'.repeat(256))],
  ['has a subject with U+0000', () => withSub('a\0b')],
  ['has a subject with a lone surrogate', () => withSub('a\ud800b')],
  ['has a list as scope', () => signToken({ ...good, scope: ['account:read'] })],
  ['has a number as scope', () => signToken({ ...good, scope: 1 })],
];
