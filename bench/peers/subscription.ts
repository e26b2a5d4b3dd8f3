import { randomUUIDv7 } from 'node:crypto';
import { storePair } from '../../src/editor-auth/credential-statements.ts';
import { createCredentialCipher } from '../../src/encryption/credential-cipher.ts';
import { Secret } from '../../src/values/secret.ts';
import { toTime } from '../../src/values/time.ts';
import { settings } from './settings.ts';
import { database, inTransaction } from './transaction.ts';

const cipher = createCredentialCipher(settings.ENCRYPTION_KEYS);

/** Encrypts and stores a token pair with the gateway's cipher and statement. */
export async function storeSubscription(
  userId: string,
  pair: Record<'accessToken' | 'refreshToken', string>,
) {
  const owner = { userId, version: randomUUIDv7() };
  const ciphertext = await cipher.encrypt(
    { accessToken: new Secret(pair.accessToken), refreshToken: new Secret(pair.refreshToken) },
    owner,
  );
  const { currentKeyId: keyId } = cipher;
  const change = { now: toTime(new Date()) };
  const encrypted = { ...owner, ciphertext, keyId, expiresAt: null, ...change };
  await inTransaction([userId], (send) => send(storePair(database, encrypted)));
  return { auth: { type: 'subscription' }, needs_reauth: false };
}
