import { CompactEncrypt, compactDecrypt } from 'jose';
import { z } from 'zod';
import type { EncryptionKeys } from '../config.ts';
import { Secret } from '../values/secret.ts';

/** The tokens of an editor subscription. */
export type TokenPair = { accessToken: Secret; refreshToken: Secret };

/** The user and version that a ciphertext is bound to. */
export type CredentialOwner = { userId: string; version: string };

/** Encrypts and decrypts token pairs. */
export type CredentialCipher = {
  /** The ID of the key that encrypts new pairs. */
  readonly currentKeyId: string;
  /** Whether the key is configured. */
  canRead(keyId: string): boolean;
  encrypt(pair: TokenPair, owner: CredentialOwner): Promise<string>;
  /** @throws {Error} if the key is not configured, or the ciphertext is damaged or another owner's */
  decrypt(ciphertext: string, owner: CredentialOwner): Promise<TokenPair>;
};

const ALGORITHM = 'dir';
const ENCRYPTION = 'A256GCM';
const Pair = z.object({ accessToken: z.string(), refreshToken: z.string() });

/**
 * Creates a cipher that writes compact JWE (RFC 7516) with `dir` and `A256GCM` (RFC 7518, sections 4.5 and 5.3). The
 * owner is part of the protected header.
 */
export function createCredentialCipher(keys: EncryptionKeys): CredentialCipher {
  const [current] = keys;
  if (current === undefined) throw new Error('ENCRYPTION_KEYS contains no key.');
  const [currentKeyId, currentKey] = current;

  return {
    currentKeyId,
    canRead: (keyId) => keys.has(keyId),

    async encrypt({ accessToken, refreshToken }, { userId, version }) {
      const pair = { accessToken: accessToken.reveal(), refreshToken: refreshToken.reveal() };
      return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(pair)))
        .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION, kid: currentKeyId, user: userId, version })
        .encrypt(currentKey);
    },

    async decrypt(ciphertext, { userId, version }) {
      const findKey = ({ kid }: { kid?: string }) => {
        const key = kid === undefined ? undefined : keys.get(kid);
        if (key === undefined) throw new Error(`ENCRYPTION_KEYS does not contain the key "${kid}".`);
        return key;
      };
      const { plaintext, protectedHeader } = await compactDecrypt(ciphertext, findKey, {
        keyManagementAlgorithms: [ALGORITHM],
        contentEncryptionAlgorithms: [ENCRYPTION],
      });
      // Pairs stored before versions were UUIDs have a number in the header.
      if (protectedHeader.user !== userId || String(protectedHeader.version) !== version) {
        throw new Error('The credential was encrypted for another user or version.');
      }
      const pair = Pair.parse(JSON.parse(new TextDecoder().decode(plaintext)));
      return { accessToken: new Secret(pair.accessToken), refreshToken: new Secret(pair.refreshToken) };
    },
  };
}
