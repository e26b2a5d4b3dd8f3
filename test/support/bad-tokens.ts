import { createHmac } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import { AUDIENCE, ISSUER, jwks, signText, signToken } from './tokens.ts';

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
  ['has the algorithm none', () => assemble({ alg: 'none' }, claims(), () => '')],
  ['has the algorithm None', () => assemble({ alg: 'None', kid: 'test' }, claims(), () => '')],
  ['is HS256 with the public key’s x as the secret', () => signedWithPublicKey(jwk?.x ?? '')],
  ['is HS256 with the public JWK as the secret', () => signedWithPublicKey(JSON.stringify(jwk))],
  ['brings its own key as jwk', () => strangers({ jwk: strangersJwk })],
  ['brings its own key as jwk, without a kid', () => strangers({ jwk: strangersJwk, kid: undefined })],
  ['brings its own key as jku', () => strangers({ jku: 'https://stranger.test/jwks' })],
  ['brings its own key as x5u', () => strangers({ x5u: 'https://stranger.test/cert' })],
  ['brings its own key as x5c', () => strangers({ x5c: ['AAAA'] })],
  ['has an unknown crit', () => signText(JSON.stringify(claims()), { crit: ['x-new'], 'x-new': 1 })],
  ['has claims that are no object', () => signText('["alice"]')],
  ['has claims that are not JSON', () => signText('alice')],
  ['has another issuer', () => signToken({ ...good, iss: 'https://stranger.test' })],
  ['has no issuer', () => signToken({ ...good, iss: null })],
  ['has another audience', () => signToken({ ...good, aud: 'somebody-else' })],
  ['has no audience', () => signToken({ ...good, aud: null })],
  ['never expires', () => signToken({ ...good, exp: null })],
  ['has an expiry that is text', () => signToken({ ...good, exp: String(now() + 3600) })],
  [
    'has an infinite expiry',
    () => signText(JSON.stringify({ ...claims(), exp: 0 }).replace('"exp":0', '"exp":1e400')),
  ],
  ['has no subject', () => withSub(null)],
  ['has an empty subject', () => withSub('')],
  ['has a number as subject', () => withSub(7)],
  ['has null as subject', () => signText(JSON.stringify({ ...claims(), sub: null }))],
  ['has a list as subject', () => withSub(['alice'])],
  ['has a subject of 256 characters', () => withSub('a'.repeat(256))],
  ['has a subject with U+0000', () => withSub('a\0b')],
  ['has a subject with a lone surrogate', () => withSub('a\ud800b')],
  ['has a list as scope', () => signToken({ ...good, scope: ['account:read'] })],
  ['has a number as scope', () => signToken({ ...good, scope: 1 })],
];
