import { KeyObject } from 'node:crypto';
import { importJWK, type JSONWebKeySet, type JWK } from 'jose';

/** The algorithms of accepted tokens, by the type of key (`kty`) that verifies them. */
const algorithmsByType: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['RSA', ['RS256', 'PS256']],
  ['EC', ['ES256']],
  ['OKP', ['EdDSA']],
]);

/** The algorithms of accepted tokens. */
export const ALGORITHMS: string[] = [...algorithmsByType.values()].flat();

/** A key that would verify tokens if it were valid, and why it is not. */
export type RejectedKey = { kid: string; reason: string };

/**
 * Selects the keys that can verify tokens. Keys for other purposes, such as encryption or other algorithms, are omitted;
 * keys that seem meant for tokens but cannot be used are returned as `rejected`.
 */
export async function selectUsableKeys({
  keys: given,
}: JSONWebKeySet): Promise<{ keys: JWK[]; rejected: RejectedKey[] }> {
  const keys: JWK[] = [];
  const rejected: RejectedKey[] = [];
  for (const jwk of given.filter((key) => !isForOthers(key))) {
    const reason = await findProblem(jwk);
    if (reason === undefined) keys.push(jwk);
    else rejected.push({ kid: String(jwk.kid ?? 'none').slice(0, 100), reason });
  }
  return { keys, rejected };
}

function isForOthers({ kty, alg, use, key_ops: operations }: JWK): boolean {
  return (
    (kty !== undefined && !algorithmsByType.has(kty)) ||
    (alg !== undefined && !ALGORITHMS.includes(alg)) ||
    (use !== undefined && use !== 'sig') ||
    (Array.isArray(operations) && !operations.includes('verify'))
  );
}

async function findProblem(jwk: JWK): Promise<string | undefined> {
  if ('d' in jwk) return 'private key';
  const algorithms = jwk.alg === undefined ? algorithmsByType.get(jwk.kty) : [jwk.alg];
  if (algorithms === undefined) return 'no "kty"';
  try {
    for (const algorithm of algorithms) {
      const key = await importJWK(jwk, algorithm);
      const weakness = key instanceof Uint8Array ? 'shared secret' : findWeakness(KeyObject.from(key));
      if (weakness !== undefined) return weakness;
    }
    return undefined;
  } catch (error) {
    return describeFailure(error);
  }
}

/** RFC 7518, section 3.3. */
const MIN_RSA_BITS = 2048;

/** Finds what importing accepts, although the key verifies nothing, or anybody could sign for it. */
function findWeakness(key: KeyObject): string | undefined {
  const { modulusLength: bits, publicExponent: exponent } = key.asymmetricKeyDetails ?? {};
  if (bits !== undefined && bits < MIN_RSA_BITS)
    return `RSA key of ${bits} bits; at least ${MIN_RSA_BITS} are required`;
  // With the exponent 1, every message is its own signature.
  if (exponent !== undefined && (exponent < 3n || exponent % 2n === 0n))
    return 'RSA key with a weak exponent';
  return key.asymmetricKeyType === 'ed25519' && isOfSmallOrder(key)
    ? 'Ed25519 key of small order'
    : undefined;
}

/**
 * The y-coordinates of the points whose order divides 8, and two other encodings of them. With such a key, a signature can
 * be computed without the private key.
 */
const smallOrder: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

function isOfSmallOrder(key: KeyObject): boolean {
  const point = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
  // The last bit is the sign of the x-coordinate.
  point.writeUInt8(point.readUInt8(31) & 0x7f, 31);
  return smallOrder.has(point.toString('hex'));
}

/** Node.js describes what is wrong with a key in the cause. */
function describeFailure(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return `cannot be imported: ${cause instanceof Error ? cause.message : cause}`;
}
