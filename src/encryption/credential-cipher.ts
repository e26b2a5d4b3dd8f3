import { z } from 'zod';
import type { EncryptionKeys } from '../config.ts';
import type { Secret } from '../values/secret.ts';
import { type BoundCipher, createBoundCipher, secretString } from './bound-cipher.ts';

/** The tokens of an editor subscription. */
export type TokenPair = { accessToken: Secret; refreshToken: Secret };

/** The user and version that a ciphertext is bound to. */
export type CredentialOwner = { userId: string; version: string };

/** Encrypts and decrypts token pairs. */
export type CredentialCipher = BoundCipher<TokenPair, CredentialOwner>;

const Pair = z.object({ accessToken: secretString, refreshToken: secretString });

/** Creates the cipher of token pairs. */
export function createCredentialCipher(keys: EncryptionKeys): CredentialCipher {
  return createBoundCipher(keys, Pair, ({ userId, version }) => ({ user: userId, version }));
}
