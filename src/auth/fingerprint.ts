import { createPublicKey, hash, KeyObject } from 'node:crypto';
import type { JSONWebKeySet, JWK } from 'jose';

/** Returns the fingerprint of a public key, which does not depend on how a key set represents it. */
export function fingerprint(key: CryptoKey): string {
  const fingerprint = cached.get(key) ?? fingerprint256(KeyObject.from(key));
  cached.set(key, fingerprint);
  return fingerprint;
}

const cached = new WeakMap<CryptoKey, string>();

/** Returns the fingerprints of a set's keys. Skips keys that Node.js cannot read: they verify no token. */
export function fingerprintsIn({ keys }: JSONWebKeySet): ReadonlySet<string> {
  return new Set(keys.flatMap((key) => fingerprintOfJwk(key) ?? []));
}

function fingerprintOfJwk(key: JWK): string | undefined {
  try {
    return fingerprint256(createPublicKey({ key, format: 'jwk' }));
  } catch {
    return undefined;
  }
}

function fingerprint256(key: KeyObject): string {
  return hash('sha256', key.export({ type: 'spki', format: 'der' }), 'base64');
}
