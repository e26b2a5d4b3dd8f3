import { createPublicKey, hash, KeyObject } from 'node:crypto';
import type { JSONWebKeySet, JWK } from 'jose';

/** The same for the same public key, however its key set writes it. */
export function fingerprint(key: CryptoKey): string {
  const fingerprint = known.get(key) ?? fingerprint256(KeyObject.from(key));
  known.set(key, fingerprint);
  return fingerprint;
}

const known = new WeakMap<CryptoKey, string>();

/** The fingerprints of the keys of a set; those that Node.js cannot read have signed nothing either. */
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
