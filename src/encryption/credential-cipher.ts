import { CompactEncrypt, compactDecrypt } from 'jose';
import { z } from 'zod';
import type { EncryptionKeys } from '../config.ts';
import { Secret } from '../values/secret.ts';

/** The pair that an editor's subscription is used with. */
export type TokenPair = { accessToken: Secret; refreshToken: Secret };

/** Whose pair it is and which of theirs; a ciphertext opens for no other. */
export type CredentialOwner = { userId: string; version: string };

/** Encrypts pairs for the database and opens them again. */
export type CredentialCipher = {
  /** The key that new pairs are encrypted with. */
  readonly currentKeyId: string;
  /** Whether pairs under this key can be opened; asks nothing of the ciphertext. */
  canRead(keyId: string): boolean;
  encrypt(pair: TokenPair, owner: CredentialOwner): Promise<string>;
  /** @throws where the key is not configured, the text was changed, or it is another owner's */
  decrypt(ciphertext: string, owner: CredentialOwner): Promise<TokenPair>;
};

const ALGORITHM = 'dir';
const ENCRYPTION = 'A256GCM';
const Pair = z.object({ accessToken: z.string(), refreshToken: z.string() });

/** JWE compact (RFC 7516) with `dir` and `A256GCM` (RFC 7518, sections 4.5 and 5.3); the owner is a protected header. */
export function createCredentialCipher(keys: EncryptionKeys): CredentialCipher {
  const [current] = keys;
  if (current === undefined) throw new Error('ENCRYPTION_KEYS holds no key.');
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
        if (key === undefined) throw new Error(`ENCRYPTION_KEYS does not hold the key "${kid}".`);
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
