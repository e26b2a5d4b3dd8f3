import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { KeySetSource } from '../config.ts';
import { InternalError } from '../errors.ts';
import { developmentPublicKeys } from './development-key.ts';

/** Finds the public key for a token's header; rejects with a jose error where none fits. */
export type KeySet = JWTVerifyGetKey;

/** The key set of the configuration (RFC 7517). */
export async function openKeySet(source: KeySetSource, dataDir: string): Promise<KeySet> {
  switch (source.kind) {
    case 'remote':
      return remoteKeySet(source.url);
    case 'local':
      return createLocalJWKSet(source.jwks);
    case 'development':
      return createLocalJWKSet(await developmentPublicKeys(dataDir));
  }
}

/**
 * A fetched key set that goes on serving the keys it has while its address does not answer.
 * @throws {InternalError} where it was never fetched: not the caller's fault, so never a 401
 */
function remoteKeySet(url: URL): KeySet {
  const remote = createRemoteJWKSet(url);
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
        throw error;
      }
      const cached = remote.jwks();
      if (cached === undefined) throw new InternalError(error);
      return createLocalJWKSet(cached)(header, token);
    }
  };
}
