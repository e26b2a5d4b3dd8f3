import { createECDH } from 'node:crypto';
import { printLine, runCommand } from './run.ts';

const KEY_BYTES = 32;

/** Prints a new private key with which the gateway identifies itself to push services (RFC 8292). */
runCommand('npm run -s vapid:key >> .env', async () => {
  const curve = createECDH('prime256v1');
  curve.generateKeys();
  // OpenSSL omits leading zeros.
  const key = Buffer.concat([Buffer.alloc(KEY_BYTES), curve.getPrivateKey()]).subarray(-KEY_BYTES);
  printLine(`VAPID_PRIVATE_KEY=${key.toString('base64url')}`);
});
