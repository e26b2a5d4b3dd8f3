import { z } from 'zod';
import type { EncryptionKeys } from '../config.ts';
import { Secret } from '../values/secret.ts';
import { type BoundCipher, createBoundCipher, secretString } from './bound-cipher.ts';

/** The tokens of an editor subscription. Without a refresh token, it cannot be refreshed. */
export type TokenPair = { accessToken: Secret; refreshToken: Secret | null };

/** The user and version that a ciphertext is bound to. */
export type CredentialOwner = { userId: string; version: string };

/** Encrypts and decrypts token pairs. */
export type CredentialCipher = BoundCipher<TokenPair, CredentialOwner>;

/** A secret or null. Null is an empty string in the encrypted JSON. */
const secretOrEmpty = z.codec(z.string(), z.instanceof(Secret).nullable(), {
  decode: (text) => (text === '' ? null : new Secret(text)),
  encode: (secret) => secret?.reveal() ?? '',
});

const Pair = z.object({ accessToken: secretString, refreshToken: secretOrEmpty });

/** Creates the cipher of token pairs. */
export function createCredentialCipher(keys: EncryptionKeys): CredentialCipher {
  return createBoundCipher(keys, Pair, ({ userId, version }) => ({ user: userId, version }));
}
