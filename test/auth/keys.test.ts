import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  publicDecrypt,
  randomBytes,
  sign as signBytes,
} from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { jwks, member, signToken } from '../support/tokens.ts';
import { forge, goodClaims } from './forge.ts';

const ec = await generateKeyPair('ES256', { extractable: true });
const wide = await generateKeyPair('ES384', { extractable: true });
const rsa = await generateKeyPair('RS256', { extractable: true });
const shared = randomBytes(64);

const ecKey = await exportJWK(ec.publicKey);
const rsaKey = await exportJWK(rsa.publicKey);
/** Keys without `alg`, which some issuers publish, and keys that must never verify a token. */
const ownKeys = {
  keys: [
    { ...ecKey, kid: 'ec' },
    { ...rsaKey, kid: 'rsa' },
    { ...ecKey, kid: 'for encryption', use: 'enc' },
    { ...ecKey, kid: 'for ES384', alg: 'ES384' },
    { ...(await exportJWK(wide.publicKey)), kid: 'wide' },
    { kty: 'oct', k: shared.toString('base64url'), kid: 'shared' },
  ],
};

const issuing = useGateway({ AUTH_JWKS: JSON.stringify(ownKeys) });

/** Imports the RSA key for another algorithm. */
async function rsaFor(alg: string): Promise<CryptoKey> {
  const name = alg.startsWith('PS') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
  const jwk = await crypto.subtle.exportKey('jwk', rsa.privateKey);
  const { alg: _alg, ...bare } = jwk;
  return crypto.subtle.importKey('jwk', bare, { name, hash: `SHA-${alg.slice(2)}` }, false, ['sign']);
}

const sign = (alg: string, kid: string, key: CryptoKey | Uint8Array) =>
  new SignJWT(goodClaims()).setProtectedHeader({ alg, kid }).sign(key);

const hashOf = (alg: string) => `sha${alg.slice(2)}`;
const hmac = (alg: string, secret: string | Buffer) =>
  forge({ alg, kid: 'rsa' }, (input) => createHmac(hashOf(alg), secret).update(input).digest());
/** Builds a token with a signature of these bytes. */
const ofBytes = (kid: 'ec' | 'rsa', ...bytes: Buffer[]) =>
  forge({ alg: kid === 'ec' ? 'ES256' : 'RS256', kid }, () => Buffer.concat(bytes));

/** Returns the status with which each API replies to a token. */
async function statuses(token: string, gateway: TestGateway = issuing) {
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
const { publicKey } = rsa;
const der = createPublicKey({ key: rsaKey, format: 'jwk' }).export({ type: 'spki', format: 'der' });

test.each<readonly [what: string, make: () => Promise<string> | string]>([
  ['has an ECDSA signature with r and s zero', () => ofBytes('ec', zeros(64))],
  ['has an ECDSA signature with r zero', () => ofBytes('ec', zeros(32), Buffer.alloc(32, 1))],
  ['has an ECDSA signature with r and s the order of the curve', () => ofBytes('ec', order, order)],
  ['has an ECDSA signature in DER', () => ofBytes('ec', Buffer.from('3006020100020100', 'hex'))],
  ['has an RSA signature of zeros', () => ofBytes('rsa', zeros(256))],
  ...['RS384', 'RS512', 'PS384', 'PS512'].map(
    (alg) => [`is validly signed with ${alg}`, async () => sign(alg, 'rsa', await rsaFor(alg))] as const,
  ),
  ['is validly signed with ES384', () => sign('ES384', 'wide', wide.privateKey)],
  ['is validly signed with a shared key of the set', () => sign('HS256', 'shared', shared)],
  ['has the public RSA key’s PEM as secret', async () => hmac('HS256', await exportSPKI(publicKey))],
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

// A key set with a key that cannot be used: no token is accepted with it, and the other keys work.

const LOGGED = 'keys of the key set cannot be used and are ignored';

const strong = generateKeyPairSync('rsa', { modulusLength: 2048 });
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
const private256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

const strongJwk: JWK = strong.publicKey.export({ format: 'jwk' });
const weakJwk: JWK = weak.publicKey.export({ format: 'jwk' });
const privateJwk: JWK = private256.export({ format: 'jwk' });
const { d: _private, ...ecJwk } = privateJwk;
const p384: JWK = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' });
const x25519: JWK = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });

/** An Ed25519 key by the little-endian bytes of its point. */
const edwards = (...bytes: number[]): JWK => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: Buffer.concat([Buffer.from(bytes), Buffer.alloc(32)], 32).toString('base64url'),
});

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());

/** Starts a gateway, by default one that uses the key set of the issuer. */
async function start(keys: readonly JWK[], settings?: Record<string, string>): Promise<TestGateway> {
  issuer.respondWith(JSON.stringify({ keys }));
  const fetched = { AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url };
  const gateway = await startTestGateway(settings ?? fetched, issuing.database);
  onTestFinished(async () => {
    await gateway.close();
    expect(gateway.logLines().filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  });
  return gateway;
}

/** Builds a token for the broken key. */
const forgeFor = (alg: string, sign: (input: Buffer) => Buffer) =>
  forge({ alg, kid: 'broken' }, sign, { ...goodClaims(), sub: 'mallory' });

/** Returns the padded digest of a message, which is its signature if the public exponent is 1. */
const padDigest = (input: Buffer) =>
  publicDecrypt(
    { key: strong.publicKey, padding: constants.RSA_NO_PADDING },
    signBytes('sha256', input, strong.privateKey),
  );

/** Signatures that verify with a key that is too weak, or need no private key. */
const forgeries: readonly string[] = [
  forgeFor('RS256', (input) => signBytes('sha256', input, weak.privateKey)),
  forgeFor('RS256', padDigest),
  forgeFor('ES256', (input) => signBytes('sha256', input, { key: private256, dsaEncoding: 'ieee-p1363' })),
  forgeFor('EdDSA', () => Buffer.alloc(64)),
  ...[0x01, 0x00].map((first) => forgeFor('EdDSA', () => Buffer.from([first, ...Buffer.alloc(63)]))),
  ...['EdDSA', 'ES256', 'RS256', 'PS256'].map((alg) => forgeFor(alg, () => Buffer.alloc(0))),
  ...Object.entries({ EdDSA: 64, ES256: 64, RS256: 256, PS256: 128 }).flatMap(([alg, length]) =>
    Array.from({ length: 10 }, () => forgeFor(alg, () => randomBytes(length))),
  ),
];

const requestWith = async (gateway: TestGateway, tokens: readonly string[]): Promise<Set<number>> =>
  new Set((await Promise.all(tokens.map((token) => statuses(token, gateway)))).flat());

const warnings = (gateway: TestGateway) =>
  gateway
    .logLines()
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === LOGGED);

const bits = (count: number) => `RSA key of ${count} bits; at least 2048 are required`;
const IMPORT = 'cannot be imported: ';
const SMALL = 'Ed25519 key of small order';

test.each<[what: string, key: JWK, reason: string]>([
  ['an RSA key of 1024 bits', weakJwk, bits(1024)],
  ['an RSA key with a malformed modulus', { ...strongJwk, n: '***' }, bits(0)],
  ['an RSA key with the exponent 1', { ...strongJwk, e: 'AQ' }, 'RSA key with a weak exponent'],
  ['an RSA key for another type of algorithm', { ...strongJwk, alg: 'ES256' }, IMPORT],
  ['a key on the curve P-384', p384, IMPORT],
  ['a key on the curve P-384 that claims to be on P-256', { ...p384, crv: 'P-256' }, IMPORT],
  ['a point that is not on the curve', { ...ecJwk, y: 'AA' }, IMPORT],
  ['a private key', privateJwk, 'private key'],
  ['a malformed use of a key', { ...ecJwk, key_ops: ['verify', 'verify'] }, IMPORT],
  ['a key on the curve X25519', x25519, IMPORT],
  ['an Ed25519 key of zeros', edwards(), SMALL],
  ['the neutral Ed25519 key', edwards(1), SMALL],
  ['a key without type', { e: 'AQAB' }, 'no "kty"'],
])('with %s in the key set, forged tokens are 401 and the other keys work', async (_what, key, reason) => {
  const gateway = await start([{ ...key, kid: 'broken' }, ...jwks.keys]);
  expect(await requestWith(gateway, forgeries)).toEqual(new Set([401]));
  expect(await requestWith(gateway, [await member('alice')])).toEqual(new Set([200]));
  expect(warnings(gateway)).toMatchObject([
    { level: 40, count: 1, keys: [{ kid: 'broken', reason: expect.stringContaining(reason) }] },
  ]);
});

test('an Ed25519 key of small order is unusable in each encoding', async () => {
  const points = [
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    ...['ec', 'ed', 'ee'].map((first) => `${first}${'ff'.repeat(30)}7f`),
  ].map((hex) => Buffer.from(hex, 'hex'));
  const withSign = points.map((point) => Buffer.from(point.with(31, (point[31] ?? 0) + 128)));
  const keys = [...points, ...withSign].map((point, index) => ({
    ...edwards(...point),
    kid: `small-${index}`,
  }));
  const gateway = await start([...keys, ...jwks.keys]);
  expect(await requestWith(gateway, [await member('alice')])).toEqual(new Set([200]));
  expect(warnings(gateway)).toMatchObject([{ count: keys.length }]);
});

test('logs many unusable keys in one short line, again only if they change', async () => {
  const toKey = (_none: unknown, index: number) => ({ ...weakJwk, kid: `${index}`.padEnd(300, 'x') });
  const broken = Array.from({ length: 1000 }, toKey);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  const gateway = await start([...broken, ...jwks.keys]);
  const reload = async () => {
    vi.setSystemTime(Date.now() + 60_000);
    expect(await requestWith(gateway, [await signToken({ sub: 'alice' })])).toEqual(new Set([200]));
    return warnings(gateway).map(({ count }) => count);
  };
  expect([await reload(), await reload()]).toEqual([[1000], [1000]]);
  expect(JSON.stringify(warnings(gateway)).length).toBeLessThan(3000);
  issuer.respondWith(JSON.stringify({ keys: [broken[0], ...jwks.keys] }));
  expect(await reload()).toEqual([1000, 1]);
});

test('with only unusable keys, every token is 401', async () => {
  const gateway = await start([{ ...weakJwk, kid: 'broken' }]);
  expect(await requestWith(gateway, [...forgeries, await member('alice')])).toEqual(new Set([401]));
});

test('keys for other purposes are ignored without a warning', async () => {
  const others = [
    { ...weakJwk, use: 'enc' },
    { ...weakJwk, alg: 'RSA-OAEP' },
    { ...p384, alg: 'ES384' },
    { ...x25519, key_ops: ['deriveBits'] },
    { kty: 'oct', k: 'c2VjcmV0' },
    { kty: 'AKP', alg: 'ML-DSA-44' },
  ];
  const gateway = await start([...others, ...jwks.keys]);
  expect(await requestWith(gateway, [await member('alice')])).toEqual(new Set([200]));
  expect(warnings(gateway)).toEqual([]);
});

test('the unusable keys of AUTH_JWKS are logged and ignored too', async () => {
  const keys = [{ ...weakJwk, kid: 'broken' }, ...jwks.keys];
  const gateway = await start([], { AUTH_JWKS: JSON.stringify({ keys }) });
  expect(await requestWith(gateway, forgeries)).toEqual(new Set([401]));
  expect(await requestWith(gateway, [await member('alice')])).toEqual(new Set([200]));
  expect(warnings(gateway)).toMatchObject([{ keys: [{ kid: 'broken' }] }]);
});
