import { createECDH, ECDH, hkdfSync, randomBytes } from 'node:crypto';
import { encryptContent, OVERHEAD, SALT_LENGTH } from './aes128gcm.ts';

const CURVE = 'prime256v1';
/** The length of an uncompressed point. */
export const POINT_LENGTH = 65;
/** The first byte of an uncompressed point. */
const UNCOMPRESSED = 4;

/** The length of the secret that a browser shares with its application. */
export const AUTH_LENGTH = 16;

/** The maximum length of a message, which every push service accepts (RFC 8030, section 7.2). */
export const MAX_MESSAGE_BYTES = 4096;

/** The maximum length of the content of a message. */
export const MAX_CONTENT_BYTES = MAX_MESSAGE_BYTES - OVERHEAD - POINT_LENGTH;

/** A browser's public key and secret. */
export type BrowserKeys = { p256dh: Buffer; auth: Buffer };

/** Created for every message: the salt, and the sender's key pair. */
export type MessageSecrets = { salt: Buffer; sender: ECDH };

/** Encrypts the content of a message for a browser (RFC 8291). */
export function encryptMessage(
  content: Buffer,
  { p256dh, auth }: BrowserKeys,
  { salt, sender }: MessageSecrets = createSecrets(),
): Buffer {
  const senderPoint = sender.getPublicKey();
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, senderPoint]);
  const inputKey = Buffer.from(hkdfSync('sha256', sender.computeSecret(p256dh), auth, info, 32));
  return encryptContent(content, inputKey, salt, senderPoint);
}

function createSecrets(): MessageSecrets {
  const sender = createECDH(CURVE);
  sender.generateKeys();
  return { salt: randomBytes(SALT_LENGTH), sender };
}

/** Whether bytes are an uncompressed point on P-256. */
export function isPublicPoint(bytes: Buffer): boolean {
  if (bytes.length !== POINT_LENGTH || bytes[0] !== UNCOMPRESSED) return false;
  try {
    ECDH.convertKey(bytes, CURVE);
    return true;
  } catch {
    return false;
  }
}
