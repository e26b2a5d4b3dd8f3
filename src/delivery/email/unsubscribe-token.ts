import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { EncryptionKeys } from '../../config.ts';
import { type NotificationKind, notificationKinds } from '../../notifications/notification.enums.ts';

/** What a link turns off: email to one user about one kind of notification. */
export type EmailTopic = { readonly userId: string; readonly kind: NotificationKind };

/** Signs and verifies the tokens of unsubscribe links, which do not expire. */
export type UnsubscribeTokens = {
  sign(topic: EmailTopic): string;
  /** Returns `undefined` unless the token was signed with one of the keys. */
  verify(token: string): EmailTopic | undefined;
};

/** The path of unsubscribe links. */
export const UNSUBSCRIBE_PATH = '/unsubscribe/{token}';

/** Returns the unsubscribe link of a token. `publicUrl` has no trailing slash. */
export function toUnsubscribeUrl(publicUrl: string, token: string): string {
  return publicUrl + UNSUBSCRIBE_PATH.replace('{token}', token);
}

const MAC_BYTES = 32;

/**
 * Creates the signer of tokens. A token is an HMAC-SHA256 followed by the content that it covers, in base64url. The
 * keys are derived from the encryption keys by HKDF (RFC 5869), so that a token reveals nothing about them. The first
 * key signs, all verify.
 */
export function createUnsubscribeTokens(encryptionKeys: EncryptionKeys): UnsubscribeTokens {
  const keys = [...encryptionKeys.values()].map(deriveKey);
  const [current] = keys;
  if (current === undefined) throw new Error('ENCRYPTION_KEYS contains no key.');

  return {
    sign({ userId, kind }) {
      const content = Buffer.from(`${kind}:${userId}`);
      return Buffer.concat([authenticate(current, content), content]).toString('base64url');
    },
    verify(token) {
      const bytes = Buffer.from(token, 'base64url');
      // Node.js skips invalid characters, so different strings can decode to the same bytes.
      if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return undefined;
      const content = bytes.subarray(MAC_BYTES);
      const mac = bytes.subarray(0, MAC_BYTES);
      const isSigned = keys.some((key) => timingSafeEqual(authenticate(key, content), mac));
      return isSigned ? parseContent(content.toString()) : undefined;
    },
  };
}

function deriveKey(key: KeyObject): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', 'unsubscribe token', MAC_BYTES)));
}

function authenticate(key: KeyObject, content: Uint8Array): Buffer {
  return createHmac('sha256', key).update(content).digest();
}

/** Kinds contain no colon; user IDs may. */
function parseContent(content: string): EmailTopic | undefined {
  const end = content.indexOf(':');
  const kind = notificationKinds.find((name) => name === content.slice(0, end));
  return kind && { userId: content.slice(end + 1), kind };
}
