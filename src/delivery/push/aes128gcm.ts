import { createCipheriv, hkdfSync } from 'node:crypto';

/** The lengths of the parts of a message with a single record (RFC 8188, section 2). */
export const SALT_LENGTH = 16;
const PARAMETERS_LENGTH = 4 + 1;
const DELIMITER_LENGTH = 1;
const TAG_LENGTH = 16;

/** The bytes that encryption adds to the content and key ID. */
export const OVERHEAD = SALT_LENGTH + PARAMETERS_LENGTH + DELIMITER_LENGTH + TAG_LENGTH;

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
