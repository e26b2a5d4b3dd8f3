import { constants, generateKeyPairSync, publicDecrypt, randomBytes, sign } from 'node:crypto';
import type { JWK } from 'jose';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { jwks, member, signToken } from '../support/tokens.ts';
import { forge, goodClaims } from './forge.ts';

/* A key set with a key that cannot be used: no token is accepted with it, and the other keys work. */

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

let database: TestDatabase;
let issuer: Issuer;
beforeAll(async () => {
  database = await createTestDatabase();
  issuer = await startIssuer();
});
afterAll(async () => {
  await issuer.close();
  await database.drop();
});

/** Starts a gateway, by default one that uses the key set of the issuer. */
async function start(keys: readonly JWK[], settings?: Record<string, string>): Promise<TestGateway> {
  issuer.respondWith(JSON.stringify({ keys }));
  const gateway = await startTestGateway(settings ?? { AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url }, database);
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
    sign('sha256', input, strong.privateKey),
  );

/** Signatures that verify with a key that is too weak, or need no private key. */
const forgeries: readonly string[] = [
  forgeFor('RS256', (input) => sign('sha256', input, weak.privateKey)),
  forgeFor('RS256', padDigest),
  forgeFor('ES256', (input) => sign('sha256', input, { key: private256, dsaEncoding: 'ieee-p1363' })),
  forgeFor('EdDSA', () => Buffer.alloc(64)),
  ...[0x01, 0x00].map((first) => forgeFor('EdDSA', () => Buffer.from([first, ...Buffer.alloc(63)]))),
  ...['EdDSA', 'ES256', 'RS256', 'PS256'].map((alg) => forgeFor(alg, () => Buffer.alloc(0))),
];

function forgeTokens(): string[] {
  const lengths = [
    ['EdDSA', 64],
    ['ES256', 64],
    ['RS256', 256],
    ['PS256', 128],
  ] as const;
  const random = lengths.flatMap(([alg, length]) =>
    Array.from({ length: 10 }, () => forgeFor(alg, () => randomBytes(length))),
  );
  return [...forgeries, ...random];
}

async function requestWith(gateway: TestGateway, tokens: readonly string[]): Promise<Set<number>> {
  const statuses = await Promise.all(
    tokens.flatMap(async (token) => [
      (await rest(gateway, 'GET', '/user/workspaces', { token })).status,
      (await graphql(gateway, '{ workspaces { totalCount } }', {}, { token })).status,
    ]),
  );
  return new Set(statuses.flat());
}

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
  ['an RSA key without modulus', { kty: 'RSA', e: 'AQAB' }, IMPORT],
  ['an RSA key with a malformed modulus', { ...strongJwk, n: '***' }, bits(0)],
  ['an RSA key with the exponent 1', { ...strongJwk, e: 'AQ' }, 'RSA key with a weak exponent'],
  ['an RSA key with an even exponent', { ...strongJwk, e: 'Ag' }, 'RSA key with a weak exponent'],
  ['an RSA key for another type of algorithm', { ...strongJwk, alg: 'ES256' }, IMPORT],
  ['a key on the curve P-384', p384, IMPORT],
  ['a key on the curve P-384 that claims to be on P-256', { ...p384, crv: 'P-256' }, IMPORT],
  ['a point that is not on the curve', { ...ecJwk, y: 'AA' }, IMPORT],
  ['a private key', privateJwk, 'private key'],
  ['a malformed use of a key', { ...ecJwk, key_ops: ['verify', 'verify'] }, IMPORT],
  ['a key on the curve X25519', x25519, IMPORT],
  ['an Ed25519 key of 1 byte', { ...edwards(), x: 'AA' }, IMPORT],
  ['an Ed25519 key of zeros', edwards(), SMALL],
  ['the neutral Ed25519 key', edwards(1), SMALL],
  ['a key without type', { e: 'AQAB' }, 'no "kty"'],
])('with %s in the key set, forged tokens are 401 and the other keys work', async (_what, key, reason) => {
  const gateway = await start([{ ...key, kid: 'broken' }, ...jwks.keys]);
  expect(await requestWith(gateway, forgeTokens())).toEqual(new Set([401]));
  expect(await requestWith(gateway, [await member('alice')])).toEqual(new Set([200]));
  expect(warnings(gateway)).toMatchObject([
    { level: 40, count: 1, keys: [{ kid: 'broken', reason: expect.stringContaining(reason) }] },
  ]);
});

test('logs many unusable keys in one short line, again only if they change', async () => {
  const toKey = (_none: unknown, index: number) => ({ ...weakJwk, kid: `${index}`.padEnd(300, 'x') });
  const broken = Array.from({ length: 1000 }, toKey);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  const gateway = await start([...broken, ...jwks.keys]);
  const reload = async () => {
    const before = issuer.requests();
    vi.setSystemTime(Date.now() + 60_000);
    expect(await requestWith(gateway, [await signToken({ sub: 'alice' })])).toEqual(new Set([200]));
    expect(issuer.requests()).toBeGreaterThan(before);
  };
  await reload();
  await reload();
  expect(warnings(gateway)).toMatchObject([{ count: 1000 }]);
  expect(JSON.stringify(warnings(gateway)).length).toBeLessThan(3000);
  issuer.respondWith(JSON.stringify({ keys: [broken[0], ...jwks.keys] }));
  await reload();
  expect(warnings(gateway)).toMatchObject([{ count: 1000 }, { count: 1 }]);
});

test('with only unusable keys, every token is 401', async () => {
  const gateway = await start([{ ...weakJwk, kid: 'broken' }]);
  expect(await requestWith(gateway, [...forgeTokens(), await member('alice')])).toEqual(new Set([401]));
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
  expect(await requestWith(gateway, forgeTokens())).toEqual(new Set([401]));
  expect(await requestWith(gateway, [await member('alice')])).toEqual(new Set([200]));
  expect(warnings(gateway)).toMatchObject([{ keys: [{ kid: 'broken' }] }]);
});
