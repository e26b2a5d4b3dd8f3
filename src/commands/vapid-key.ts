import { createECDH } from 'node:crypto';
import { printLine, runCommand } from './run-command.ts';

/** Prints a new key pair for push messages. Switching to it invalidates all existing subscriptions. */
runCommand('npm run -s vapid:key', {}, async () => {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  // The library omits leading zeros.
  const privateKey = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()]).subarray(-32);
  printLine(`VAPID_PRIVATE_KEY=${privateKey.toString('base64url')}`);
  printLine(
    `# The public key, which browsers read with \`pushPublicKey\`: ${pair.getPublicKey('base64url')}`,
  );
});
