import { createHmac, createPublicKey, randomBytes } from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { AUDIENCE, ISSUER } from './support/tokens.ts';

const ec = await generateKeyPair('ES256', { extractable: true });
const wide = await generateKeyPair('ES384', { extractable: true });
const rsa = await generateKeyPair('RS256', { extractable: true });
const shared = randomBytes(64);

const ecKey = await exportJWK(ec.publicKey);
const rsaKey = await exportJWK(rsa.publicKey);
/** Keys without `alg`, as lax issuers publish them, and some that must never verify a token of ours. */
const jwks = {
  keys: [
    { ...ecKey, kid: 'ec' },
    { ...rsaKey, kid: 'rsa' },
    { ...ecKey, kid: 'for encryption', use: 'enc' },
    { ...ecKey, kid: 'for ES384', alg: 'ES384' },
    { ...(await exportJWK(wide.publicKey)), kid: 'wide' },
    { kty: 'oct', k: shared.toString('base64url'), kid: 'shared' },
  ],
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ AUTH_JWKS: JSON.stringify(jwks) });
});
afterAll(() => gateway.close());

const claims = () => ({ sub: 'alice', iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 600 });

/** A key as another algorithm than the one that it was made for. */
async function rsaFor(alg: string): Promise<CryptoKey> {
  const name = alg.startsWith('PS') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
  const jwk = await crypto.subtle.exportKey('jwk', rsa.privateKey);
  const { alg: _alg, ...bare } = jwk;
  return crypto.subtle.importKey('jwk', bare, { name, hash: `SHA-${alg.slice(2)}` }, false, ['sign']);
}

const signed = (alg: string, kid: string | undefined, key: CryptoKey | Uint8Array) =>
  new SignJWT(claims()).setProtectedHeader({ alg, ...(kid !== undefined && { kid }) }).sign(key);

/** A token whose signature is made from its text by hand. */
function assembled(header: object, sign: (input: string) => Buffer): string {
  const input = [header, claims()]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${input}.${sign(input).toString('base64url')}`;
}

const hmac = (alg: string, kid: string, secret: string | Buffer) =>
  assembled({ alg, kid }, (input) =>
    createHmac(`sha${alg.slice(2)}`, secret)
      .update(input)
      .digest(),
  );

async function statuses(token: string) {
  const overRest = await rest(gateway, 'GET', '/user/workspaces', { token });
  const overGraphQL = await graphql(gateway, '{ workspaces { totalCount } }', {}, { token });
  return [overRest.status, overGraphQL.status];
}

test.each<[what: string, make: () => Promise<string>]>([
  ['ES256', () => signed('ES256', 'ec', ec.privateKey)],
  ['RS256', () => signed('RS256', 'rsa', rsa.privateKey)],
  ['PS256', async () => signed('PS256', 'rsa', await rsaFor('PS256'))],
])('a token with %s holds', async (_what, make) => {
  expect(await statuses(await make())).toEqual([200, 200]);
});

const zeros = (length: number) => () => Buffer.alloc(length);
/** The order of the curve P-256. */
const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
const one = Buffer.from('1'.padStart(64, '0'), 'hex');

test.each<readonly [what: string, make: () => Promise<string> | string]>([
  ['has an ECDSA signature with r and s zero', () => assembled({ alg: 'ES256', kid: 'ec' }, zeros(64))],
  [
    'has an ECDSA signature with r zero',
    () => assembled({ alg: 'ES256', kid: 'ec' }, () => Buffer.concat([Buffer.alloc(32), one])),
  ],
  [
    'has an ECDSA signature with s zero',
    () => assembled({ alg: 'ES256', kid: 'ec' }, () => Buffer.concat([one, Buffer.alloc(32)])),
  ],
  [
    'has an ECDSA signature with r and s the order of the curve',
    () => assembled({ alg: 'ES256', kid: 'ec' }, () => Buffer.concat([order, order])),
  ],
  [
    'has an ECDSA signature in DER',
    () => assembled({ alg: 'ES256', kid: 'ec' }, () => Buffer.from('3006020100020100', 'hex')),
  ],
  ['has an RSA signature of zeros', () => assembled({ alg: 'RS256', kid: 'rsa' }, zeros(256))],
  [
    'has an RSA signature of one',
    () => assembled({ alg: 'RS256', kid: 'rsa' }, () => Buffer.concat([Buffer.alloc(255), Buffer.from([1])])),
  ],
  ...['RS384', 'RS512', 'PS384', 'PS512'].map(
    (alg) => [`is well signed with ${alg}`, async () => signed(alg, 'rsa', await rsaFor(alg))] as const,
  ),
  ['is well signed with ES384', () => signed('ES384', 'wide', wide.privateKey)],
  ...['HS256', 'HS384', 'HS512'].map(
    (alg) =>
      [
        `is well signed with ${alg} and a secret of the key set`,
        () => signed(alg, 'shared', shared),
      ] as const,
  ),
  [
    'is HS256 with the public RSA key’s PEM as the secret',
    async () => hmac('HS256', 'rsa', await exportSPKI(rsa.publicKey)),
  ],
  [
    'is HS256 with the public RSA key’s PEM, without its last line break, as the secret',
    async () => hmac('HS256', 'rsa', (await exportSPKI(rsa.publicKey)).trimEnd()),
  ],
  [
    'is HS512 with the public RSA key’s DER as the secret',
    () =>
      hmac(
        'HS512',
        'rsa',
        createPublicKey({ key: rsaKey, format: 'jwk' }).export({ type: 'spki', format: 'der' }),
      ),
  ],
  ['is HS256 with the public key’s n as the secret', () => hmac('HS256', 'rsa', rsaKey.n ?? '')],
  ['is HS256 with an empty secret', () => hmac('HS256', 'rsa', '')],
  [
    'is signed by a key that is published for encryption',
    () => signed('ES256', 'for encryption', ec.privateKey),
  ],
  [
    'is signed by a key that is published for another algorithm',
    () => signed('ES256', 'for ES384', ec.privateKey),
  ],
  ['names the key of another algorithm', () => signed('ES256', 'rsa', ec.privateKey)],
  ['names another key than it is signed by', () => signed('RS256', 'ec', rsa.privateKey)],
])('a token that %s is refused', async (_what, make) => {
  expect(await statuses(await make())).toEqual([401, 401]);
});
