import { createHmac, createPublicKey, randomBytes } from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { forge, goodClaims } from './forge.ts';

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

/** Imports the RSA key for another algorithm. */
async function rsaFor(alg: string): Promise<CryptoKey> {
  const name = alg.startsWith('PS') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
  const jwk = await crypto.subtle.exportKey('jwk', rsa.privateKey);
  const { alg: _alg, ...bare } = jwk;
  return crypto.subtle.importKey('jwk', bare, { name, hash: `SHA-${alg.slice(2)}` }, false, ['sign']);
}

const sign = (alg: string, kid: string, key: CryptoKey | Uint8Array) =>
  new SignJWT(goodClaims()).setProtectedHeader({ alg, kid }).sign(key);

const hmac = (alg: string, secret: string | Buffer) =>
  forge({ alg, kid: 'rsa' }, (input) =>
    createHmac(`sha${alg.slice(2)}`, secret)
      .update(input)
      .digest(),
  );
/** Builds a token with a signature of these bytes. */
const ofBytes = (kid: 'ec' | 'rsa', ...bytes: Buffer[]) =>
  forge({ alg: kid === 'ec' ? 'ES256' : 'RS256', kid }, () => Buffer.concat(bytes));

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

const zeros = (length: number) => Buffer.alloc(length);
/** The order of the curve P-256. */
const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
const one = (length: number) => Buffer.concat([zeros(length - 1), Buffer.from([1])]);
const { publicKey } = rsa;
const der = createPublicKey({ key: rsaKey, format: 'jwk' }).export({ type: 'spki', format: 'der' });

test.each<readonly [what: string, make: () => Promise<string> | string]>([
  ['has an ECDSA signature with r and s zero', () => ofBytes('ec', zeros(64))],
  ['has an ECDSA signature with r zero', () => ofBytes('ec', zeros(32), one(32))],
  ['has an ECDSA signature with s zero', () => ofBytes('ec', one(32), zeros(32))],
  ['has an ECDSA signature with r and s the order of the curve', () => ofBytes('ec', order, order)],
  ['has an ECDSA signature in DER', () => ofBytes('ec', Buffer.from('3006020100020100', 'hex'))],
  ['has an RSA signature of zeros', () => ofBytes('rsa', zeros(256))],
  ['has an RSA signature of one', () => ofBytes('rsa', one(256))],
  ...['RS384', 'RS512', 'PS384', 'PS512'].map(
    (alg) => [`is validly signed with ${alg}`, async () => sign(alg, 'rsa', await rsaFor(alg))] as const,
  ),
  ['is validly signed with ES384', () => sign('ES384', 'wide', wide.privateKey)],
  ...['HS256', 'HS384', 'HS512'].map(
    (alg) =>
      [
        `is validly signed with ${alg} and a shared key of the set`,
        () => sign(alg, 'shared', shared),
      ] as const,
  ),
  ['has the public RSA key’s PEM as secret', async () => hmac('HS256', await exportSPKI(publicKey))],
  [
    'has the PEM without line break as secret',
    async () => hmac('HS256', (await exportSPKI(publicKey)).trimEnd()),
  ],
  ['has the public RSA key’s DER as secret', () => hmac('HS512', der)],
  ['has the public RSA key’s n as secret', () => hmac('HS256', rsaKey.n ?? '')],
  ['has an empty secret', () => hmac('HS256', '')],
  ['is signed with a key published for encryption', () => sign('ES256', 'for encryption', ec.privateKey)],
  ['is signed with a key published for another algorithm', () => sign('ES256', 'for ES384', ec.privateKey)],
  ['has the kid of a key for another algorithm', () => sign('ES256', 'rsa', ec.privateKey)],
  ['has the kid of another key than it was signed with', () => sign('RS256', 'ec', rsa.privateKey)],
])('rejects a token that %s', async (_what, make) => {
  expect(await statuses(await make())).toEqual([401, 401]);
});
