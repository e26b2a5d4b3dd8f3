import { createHmac } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import { AUDIENCE, ISSUER, jwks, signParts, signText, signToken } from '../support/tokens.ts';
import { forge, goodClaims } from './forge.ts';

const unknownKey = await generateKeyPair('EdDSA', { crv: 'Ed25519' });
const unknownJwk = await exportJWK(unknownKey.publicKey);
const now = () => Math.floor(Date.now() / 1000);

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
export const badTokens: readonly (readonly [what: string, token: () => Promise<string> | string])[] = [
  ['is not a JWT', () => 'not-a-jwt'],
  ['has three empty parts', () => '..'],
  ['is empty', () => ''],
  ['has a tampered payload', () => change(1, (text) => text.replace(/^./, (c) => (c === 'e' ? 'f' : 'e')))],
  ['has a truncated signature', () => change(2, (text) => text.slice(0, -10))],
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
  ['has five parts, like an encrypted JWT', () => change(2, (text) => `${text}.AAAA.AAAA`)],
  ['has a signature of zeros', () => change(2, () => 'A'.repeat(86))],
  [
    'has the signature of another message',
    async () => {
      const other = await signatureOf('bob');
      return change(2, () => other);
    },
  ],
  ['has a file path as kid', () => signWithUnknownKey({ kid: '../../../../dev/null' })],
  ['has SQL as kid', () => signWithUnknownKey({ kid: "' union select 'AAAA' --" })],
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
    () => signText(JSON.stringify({ ...goodClaims(), exp: 0 }).replace('"exp":0', '"exp":1e400')),
  ],
  ['has no subject', () => withSub(null)],
  ['has an empty subject', () => withSub('')],
  ['has a number as subject', () => withSub(7)],
  ['has null as subject', () => signText(JSON.stringify({ ...goodClaims(), sub: null }))],
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
