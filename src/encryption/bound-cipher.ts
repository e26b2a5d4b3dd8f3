import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import { z } from 'zod';
import type { EncryptionKeys } from '../config.ts';
import { Secret } from '../values/secret.ts';

/** Encrypts and decrypts secrets. A ciphertext is bound to its owner and cannot be decrypted as another owner's. */
export type BoundCipher<Content, Owner> = {
  /** The ID of the key that encrypts new content. */
  readonly currentKeyId: string;
  /** The IDs of the configured keys. */
  readonly keyIds: readonly string[];
  /** Whether the key is configured. */
  canRead(keyId: string): boolean;
  encrypt(content: Content, owner: Owner): Promise<string>;
  /** @throws {Error} if the key is not configured, or the ciphertext is damaged or another owner's */
  decrypt(ciphertext: string, owner: Owner): Promise<Content>;
};

/** A secret, which is a string in the encrypted JSON. */
const secretString = z.codec(z.string(), z.instanceof(Secret), {
  decode: (text) => new Secret(text),
  encode: (secret) => secret.reveal(),
});

const ALGORITHM = 'dir';
const ENCRYPTION = 'A256GCM';

/**
 * Creates a cipher that writes compact JWE (RFC 7516) with `dir` and `A256GCM` (RFC 7518, sections 4.5 and 5.3).
 * `describeOwner` returns the members of the protected header that bind a ciphertext to its owner. Their names differ
 * between kinds of content, so that no ciphertext can be decrypted as another kind.
 */
function createBoundCipher<Content, Owner>(
  keys: EncryptionKeys,
  schema: z.ZodType<Content>,
  describeOwner: (owner: Owner) => Readonly<Record<string, string>>,
): BoundCipher<Content, Owner> {
  const [current] = keys;
  if (current === undefined) throw new Error('ENCRYPTION_KEYS contains no key.');
  const [currentKeyId, currentKey] = current;

  const findKey = ({ kid }: { kid?: string }) => {
    const key = kid === undefined ? undefined : keys.get(kid);
    if (key === undefined) throw new Error(`ENCRYPTION_KEYS does not contain the key "${kid}".`);
    return key;
  };

  return {
    currentKeyId,
    keyIds: [...keys.keys()],
    canRead: (keyId) => keys.has(keyId),

    async encrypt(content, owner) {
      const text = JSON.stringify(schema.encode(content));
      return new CompactEncrypt(new TextEncoder().encode(text))
        .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION, kid: currentKeyId, ...describeOwner(owner) })
        .encrypt(currentKey);
    },

    async decrypt(ciphertext, owner) {
      const { plaintext, protectedHeader } = await compactDecrypt(ciphertext, findKey, {
        keyManagementAlgorithms: [ALGORITHM],
        contentEncryptionAlgorithms: [ENCRYPTION],
      });
      const members = Object.entries(describeOwner(owner));
      // Credentials encrypted before versions were UUIDs have a number as the version in the header.
      const isOwner = members.every(
        ([name, value]) => name in protectedHeader && String(protectedHeader[name]) === value,
      );
      if (!isOwner) {
        const names = members.map(([name]) => name).join(' or ');
        throw new Error(`The content was encrypted for another ${names}.`);
      }
      return schema.parse(JSON.parse(new TextDecoder().decode(plaintext)));
    },
  };
}

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

/** Where push messages are sent and the keys that encrypt them: endpoint, public key and authentication secret. */
export type PushTarget = { endpoint: Secret; p256dh: Secret; auth: Secret };

/** The user and subscription that a ciphertext is bound to. */
export type SubscriptionOwner = { userId: string; id: string };

/** Encrypts and decrypts push subscriptions. */
export type SubscriptionCipher = BoundCipher<PushTarget, SubscriptionOwner>;

const Target = z.object({ endpoint: secretString, p256dh: secretString, auth: secretString });

/** Creates the cipher of push subscriptions. */
export function createSubscriptionCipher(keys: EncryptionKeys): SubscriptionCipher {
  return createBoundCipher(keys, Target, ({ userId, id }) => ({ user: userId, subscription: id }));
}

/** What a link in a mail allows: answering a request of a user, if `bound` still fits. `expiresAt` is in milliseconds since 1970. */
export type AnswerLink = z.output<typeof Link>;

const Link = z.object({ userId: z.string(), id: z.string(), bound: z.string(), expiresAt: z.number() });

/**
 * Creates the cipher of answer links. Its keys are derived by HKDF (RFC 5869): tokens in mails reveal nothing about those that
 * encrypt what is stored, and do not count for how much these may encrypt.
 */
export function createLinkCipher(keys: EncryptionKeys): BoundCipher<AnswerLink, { purpose: 'answer' }> {
  const derive = (key: KeyObject) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', 'answer link', 32)));
  const derived = new Map([...keys].map(([id, key]) => [id, derive(key)]));
  return createBoundCipher(derived, Link, ({ purpose }) => ({ purpose }));
}
