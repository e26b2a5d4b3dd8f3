import {
  createCipheriv,
  createECDH,
  createPublicKey,
  ECDH,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';

const CURVE = 'prime256v1';
/** The length of an uncompressed point. */
const POINT_LENGTH = 65;
/** The first byte of an uncompressed point. */
const UNCOMPRESSED = 4;

/** The lengths of the parts of a message with a single record (RFC 8188, section 2). */
const SALT_LENGTH = 16;
const PARAMETERS_LENGTH = 4 + 1;
const DELIMITER_LENGTH = 1;
const TAG_LENGTH = 16;

/** The bytes that encryption adds to the content and key ID. */
const OVERHEAD = SALT_LENGTH + PARAMETERS_LENGTH + DELIMITER_LENGTH + TAG_LENGTH;

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

/** The maximum length of a record, with delimiter and tag. */
const RECORD_SIZE = 4096;

/** Follows the content of the last record. */
const LAST_RECORD = Buffer.of(2);

/** Encrypts content in one record, with the content coding `aes128gcm` (RFC 8188). `salt` must be used only once. */
export function encryptContent(content: Buffer, inputKey: Buffer, salt: Buffer, keyId: Buffer): Buffer {
  const derive = (name: string, length: number) =>
    Buffer.from(hkdfSync('sha256', inputKey, salt, `Content-Encoding: ${name}\0`, length));
  const cipher = createCipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
  const parameters = Buffer.alloc(PARAMETERS_LENGTH);
  parameters.writeUInt32BE(RECORD_SIZE);
  parameters.writeUInt8(keyId.length, 4);
  const record = [cipher.update(content), cipher.update(LAST_RECORD), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([salt, parameters, keyId, ...record]);
}

/** Push services reject tokens that are valid for more than 24 hours (RFC 8292, section 2). */
const TOKEN_SECONDS = 12 * 3600;

/** Tokens are used for a part of their lifetime, so that the clocks of push services may differ. */
const REUSE_MS = 3_600_000;

/** Limited, because users choose the origins. */
const MAX_CACHED_TOKENS = 1000;

/** Returns the public key that browsers subscribe with: an uncompressed point, base64url. */
export function formatPublicKey(privateKey: KeyObject): string {
  // The point is the last part of the structure.
  const structure = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return structure.toString('base64url', structure.length - POINT_LENGTH);
}

/** Creates the function that returns the `Authorization` header for the origin of a push service (RFC 8292). */
export function createAuthorize(privateKey: KeyObject, subject: string) {
  const publicKey = formatPublicKey(privateKey);
  const headers = new LRUCache<string, string>({ max: MAX_CACHED_TOKENS, ttl: REUSE_MS });
  return async (origin: string): Promise<string> => {
    const cached = headers.get(origin);
    if (cached !== undefined) return cached;
    const token = await new SignJWT()
      .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
      .setAudience(origin)
      .setSubject(subject)
      .setExpirationTime(Math.floor(Date.now() / 1000) + TOKEN_SECONDS)
      .sign(privateKey);
    const header = `vapid t=${token}, k=${publicKey}`;
    headers.set(origin, header);
    return header;
  };
}
