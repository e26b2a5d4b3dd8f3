import { expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { formatPublicKey } from '../../src/delivery/push/encryption.ts';
import { runProcess } from '../support/process.ts';

test('npm run vapid:key prints a new private key, which is a valid setting, and its public key', async () => {
  const [first, second] = await Promise.all([1, 2].map(() => runProcess('src/commands/vapid-key.ts', {})));

  expect(first).toMatchObject({ status: 0, stderr: '' });
  const [, privateKey = '', publicKey] =
    /^VAPID_PRIVATE_KEY=([\w-]{43})\n# .*: ([\w-]{87})\n$/.exec(first?.stdout ?? '') ?? [];
  const { delivery } = readConfig({
    VAPID_PRIVATE_KEY: privateKey,
    VAPID_SUBJECT: 'mailto:ops@example.com',
  });
  expect(delivery.push && formatPublicKey(delivery.push.privateKey)).toBe(publicKey);
  expect(second?.stdout).not.toBe(first?.stdout);
});
