import { z } from 'zod';
import type { EncryptionKeys } from '../config.ts';
import type { Secret } from '../values/secret.ts';
import { type BoundCipher, createBoundCipher, secretString } from './bound-cipher.ts';

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
