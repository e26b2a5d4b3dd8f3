import { createHmac, createPublicKey, randomBytes } from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { AUDIENCE, ISSUER } from '../support/tokens.ts';

const ec = await generateKeyPair('ES256', { extractable: true });
const wide = await generateKeyPair('ES384', { extractable: true });
const rsa = await generateKeyPair('RS256', { extractable: true });
const shared = randomBytes(64);

const ecKey = await exportJWK(ec.publicKey);
const rsaKey = await exportJWK(rsa.publicKey);
/** Keys without `alg`, which some issuers publish, and keys that must never verify a token. */
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

const gateway = useGateway({ AUTH_JWKS: JSON.stringify(jwks) });

const claims = () => ({ sub: 'alice', iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 600 });

/** Imports the RSA key for another algorithm. */
async function rsaFor(alg: string): Promise<CryptoKey> {
  const name = alg.startsWith('PS') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
  const jwk = await crypto.subtle.exportKey('jwk', rsa.privateKey);
  const { alg: _alg, ...bare } = jwk;
  return crypto.subtle.importKey('jwk', bare, { name, hash: `SHA-${alg.slice(2)}` }, false, ['sign']);
}

const sign = (alg: string, kid: string | undefined, key: CryptoKey | Uint8Array) =>
  new SignJWT(claims()).setProtectedHeader({ alg, ...(kid !== undefined && { kid }) }).sign(key);

/** Builds a token with a given signature. */
function assemble(header: object, sign: (input: string) => Buffer): string {
  const input = [header, claims()]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${input}.${sign(input).toString('base64url')}`;
}

const hmac = (alg: string, kid: string, secret: string | Buffer) =>
  assemble({ alg, kid }, (input) =>
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
  ['ES256', () => sign('ES256', 'ec', ec.privateKey)],
  ['RS256', () => sign('RS256', 'rsa', rsa.privateKey)],
  ['PS256', async () => sign('PS256', 'rsa', await rsaFor('PS256'))],
])('accepts a token signed with %s', async (_what, make) => {
  expect(await statuses(await make())).toEqual([200, 200]);
});

const zeros = (length: number) => () => Buffer.alloc(length);
/** The order of the curve P-256. */
const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
const one = Buffer.from('1'.padStart(64, '0'), 'hex');

test.each<readonly [what: string, make: () => Promise<string> | string]>([
  ['has an ECDSA signature with r and s zero', () => assemble({ alg: 'ES256', kid: 'ec' }, zeros(64))],
  [
    'has an ECDSA signature with r zero',
    () => assemble({ alg: 'ES256', kid: 'ec' }, () => Buffer.concat([Buffer.alloc(32), one])),
  ],
  [
    'has an ECDSA signature with s zero',
    () => assemble({ alg: 'ES256', kid: 'ec' }, () => Buffer.concat([one, Buffer.alloc(32)])),
  ],
  [
    'has an ECDSA signature with r and s the order of the curve',
    () => assemble({ alg: 'ES256', kid: 'ec' }, () => Buffer.concat([order, order])),
  ],
  [
    'has an ECDSA signature in DER',
    () => assemble({ alg: 'ES256', kid: 'ec' }, () => Buffer.from('3006020100020100', 'hex')),
  ],
  ['has an RSA signature of zeros', () => assemble({ alg: 'RS256', kid: 'rsa' }, zeros(256))],
  [
    'has an RSA signature of one',
    () => assemble({ alg: 'RS256', kid: 'rsa' }, () => Buffer.concat([Buffer.alloc(255), Buffer.from([1])])),
  ],
  ...['RS384', 'RS512', 'PS384', 'PS512'].map(
    (alg) => [`is validly sign with ${alg}`, async () => sign(alg, 'rsa', await rsaFor(alg))] as const,
  ),
  ['is validly signed with ES384', () => sign('ES384', 'wide', wide.privateKey)],
  ...['HS256', 'HS384', 'HS512'].map(
    (alg) =>
      [
        `is validly sign with ${alg} and a symmetric key of the key set`,
        () => sign(alg, 'shared', shared),
      ] as const,
  ),
  [
    'is signed with HS256 and the public RSA key’s PEM as the secret',
    async () => hmac('HS256', 'rsa', await exportSPKI(rsa.publicKey)),
  ],
  [
    'is signed with HS256 and the public RSA key’s PEM without its final line break as the secret',
    async () => hmac('HS256', 'rsa', (await exportSPKI(rsa.publicKey)).trimEnd()),
  ],
  [
    'is signed with HS512 and the public RSA key’s DER as the secret',
    () =>
      hmac(
        'HS512',
        'rsa',
        createPublicKey({ key: rsaKey, format: 'jwk' }).export({ type: 'spki', format: 'der' }),
      ),
  ],
  ['is signed with HS256 and the public key’s n as the secret', () => hmac('HS256', 'rsa', rsaKey.n ?? '')],
  ['is signed with HS256 and an empty secret', () => hmac('HS256', 'rsa', '')],
  ['is signed with a key published for encryption', () => sign('ES256', 'for encryption', ec.privateKey)],
  ['is signed with a key published for another algorithm', () => sign('ES256', 'for ES384', ec.privateKey)],
  ['has the kid of a key for another algorithm', () => sign('ES256', 'rsa', ec.privateKey)],
  ['has the kid of another key than it was signed with', () => sign('RS256', 'ec', rsa.privateKey)],
])('rejects a token that %s', async (_what, make) => {
  expect(await statuses(await make())).toEqual([401, 401]);
});
