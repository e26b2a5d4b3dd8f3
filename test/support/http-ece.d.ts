/** The part of Mozilla's implementation of RFC 8188 that tests use. The package has no types. */
declare module 'http_ece' {
  import type { ECDH } from 'node:crypto';

  type Options = {
    version: 'aes128gcm';
    /** The shared key. */
    key?: Buffer;
    /** The keys of a browser, with which a web push message is decrypted. */
    privateKey?: ECDH;
    authSecret?: Buffer;
  };

  export function decrypt(message: Buffer, options: Options): Buffer;
}
