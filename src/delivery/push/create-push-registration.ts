import type { EncryptionKeys, PushConfig } from '../../config.ts';
import type { PushRegistration } from '../../context.ts';
import { createSubscriptionCipher } from '../../encryption/subscription-cipher.ts';
import { formatPublicKey } from './vapid.ts';

/** Creates what registering push subscriptions requires; null if push is not configured. */
export function createPushRegistration(
  config: PushConfig | null,
  keys: EncryptionKeys,
): PushRegistration | null {
  if (config === null) return null;
  const { privateKey, allowedHosts } = config;
  return { cipher: createSubscriptionCipher(keys), publicKey: formatPublicKey(privateKey), allowedHosts };
}
