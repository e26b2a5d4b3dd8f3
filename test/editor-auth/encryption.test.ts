import { createSecretKey, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { CompactEncrypt, decodeProtectedHeader } from 'jose';
import { describe, expect, test } from 'vitest';
import { createCredentialCipher, createSubscriptionCipher } from '../../src/encryption/bound-cipher.ts';
import { Secret } from '../../src/values/secret.ts';
import { useGateway } from '../support/gateway.ts';
import { platform } from '../support/tokens.ts';

const newKey = () => createSecretKey(randomBytes(32));
const [first, second] = [newKey(), newKey()];
const cipher = createCredentialCipher(new Map([['first', first]]));
const rotated = createCredentialCipher(
  new Map([
    ['second', second],
    ['first', first],
  ]),
);

const owner = { userId: 'alice', version: '0199a000-0000-7000-8000-000000000003' };
const toSecrets = (accessToken: string, refreshToken: string) => ({
  accessToken: new Secret(accessToken),
  refreshToken: new Secret(refreshToken),
});
const pair = toSecrets('access', 'refresh');

async function decrypt(ciphertext: string, of = owner, by = cipher) {
  const { accessToken, refreshToken } = await by.decrypt(ciphertext, of);
  return [accessToken.reveal(), refreshToken?.reveal() ?? null];
}

test('decrypts what it encrypted, for any tokens and any owner', async () => {
  const token = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 2000 });
  const owners = fc.record({
    userId: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 }),
    version: fc.uuid({ version: 7 }),
  });
  await fc.assert(
    fc.asyncProperty(token, token, owners, async (access, refresh, owner) => {
      const ciphertext = await cipher.encrypt(toSecrets(access, refresh), owner);
      expect(await decrypt(ciphertext, owner)).toEqual([access, refresh]);
    }),
  );
});

test('encrypting the same tokens twice gives different ciphertexts, which contain neither token', async () => {
  const [one, two] = [await cipher.encrypt(pair, owner), await cipher.encrypt(pair, owner)];
  expect(one).not.toBe(two);
  const readable = one
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    .join();
  expect(readable).not.toMatch(/access|refresh/);
});

test.each([
  ['another user', { ...owner, userId: 'bob' }],
  ['a user ID that differs in case', { ...owner, userId: 'Alice' }],
  ['another version', { ...owner, version: '0199a000-0000-7000-8000-000000000004' }],
])('rejects a ciphertext for %s', async (_what, other) => {
  const ciphertext = await cipher.encrypt(pair, owner);
  await expect(decrypt(ciphertext, other)).rejects.toThrow('another user or version');
});

test('binds a push subscription to its user and ID, and rejects ciphertexts of the other cipher', async () => {
  const subscriptions = createSubscriptionCipher(new Map([['first', first]]));
  const target = { endpoint: new Secret('https://a'), p256dh: new Secret('b'), auth: new Secret('c') };
  const subscription = { userId: 'alice', id: owner.version };
  const ciphertext = await subscriptions.encrypt(target, subscription);

  const { endpoint, p256dh, auth } = await subscriptions.decrypt(ciphertext, subscription);
  expect([endpoint, p256dh, auth].map((secret) => secret.reveal())).toEqual(['https://a', 'b', 'c']);
  expect(decodeProtectedHeader(ciphertext)).toMatchObject({ user: 'alice', subscription: owner.version });
  for (const other of [{ userId: 'bob' }, { id: 'other' }]) {
    const decrypting = subscriptions.decrypt(ciphertext, { ...subscription, ...other });
    await expect(decrypting).rejects.toThrow('another user or subscription');
  }
  await expect(decrypt(ciphertext)).rejects.toThrow('another user or version');
  const encrypted = await cipher.encrypt(pair, owner);
  await expect(subscriptions.decrypt(encrypted, subscription)).rejects.toThrow('user or subscription');
});

/** Encrypts the pair with another header than the cipher's. */
const encryptWith = (header: { alg: string; enc: string; version?: number }) =>
  new CompactEncrypt(new TextEncoder().encode('{"accessToken":"access","refreshToken":"refresh"}'))
    .setProtectedHeader({ kid: 'first', user: owner.userId, version: owner.version, ...header })
    .encrypt(first);

test('accepts a numeric version in the header for the same version as a string only', async () => {
  const ciphertext = await encryptWith({ alg: 'dir', enc: 'A256GCM', version: 3 });
  expect(await decrypt(ciphertext, { userId: 'alice', version: '3' })).toEqual(['access', 'refresh']);
  const decrypting = decrypt(ciphertext, { userId: 'alice', version: '03' });
  await expect(decrypting).rejects.toThrow('another user or version');
});

test('rejects a ciphertext with any changed character', async () => {
  const ciphertext = await cipher.encrypt(pair, owner);
  const changed = fc
    .tuple(fc.integer({ min: 0, max: ciphertext.length - 1 }), fc.constantFrom('A', 'Q', '_', '.'))
    .map(([at, character]) => ciphertext.slice(0, at) + character + ciphertext.slice(at + 1));
  const decodeParts = (text: string) =>
    text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'));
  await fc.assert(
    fc.asyncProperty(changed, async (text) => {
      // The last character of a part may contain unused bits.
      fc.pre(decodeParts(text).join('.') !== decodeParts(ciphertext).join('.'));
      await expect(decrypt(text)).rejects.toThrow();
    }),
  );
});

test('encrypts with the first key and decrypts with every key', async () => {
  const [old, fresh] = [await cipher.encrypt(pair, owner), await rotated.encrypt(pair, owner)];
  expect(cipher.currentKeyId).toBe('first');
  expect(rotated.currentKeyId).toBe('second');
  expect(decodeProtectedHeader(fresh)).toMatchObject({ alg: 'dir', enc: 'A256GCM', kid: 'second' });
  expect(await decrypt(old, owner, rotated)).toEqual(['access', 'refresh']);
  expect(await decrypt(fresh, owner, rotated)).toEqual(['access', 'refresh']);
});

test('rejects a ciphertext of another key with the same ID, without exposing tokens in the error', async () => {
  const ciphertext = await cipher.encrypt(pair, owner);
  const impostor = createCredentialCipher(new Map([['first', newKey()]]));
  await expect(decrypt(ciphertext, owner, impostor)).rejects.toThrow(/^(?!.*(access|refresh))/);
});

test.each([
  ['another content encryption', { alg: 'dir', enc: 'A128CBC-HS256' }],
  ['another key management', { alg: 'A256GCMKW', enc: 'A256GCM' }],
])('rejects a ciphertext with %s, even with the right key', async (_what, header) => {
  await expect(decrypt(await encryptWith(header))).rejects.toThrow(/not allowed/);
});

describe('a gateway', () => {
  const [firstKey, secondKey] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
  const gateway = useGateway({ ENCRYPTION_KEYS: `first:${firstKey}` });
  /** Uses the same database with only a new key: credentials encrypted with the first key are unreadable. */
  const withoutKey = useGateway({ ENCRYPTION_KEYS: `second:${secondKey}` }, gateway);
  /** Uses the same database with the new key first, followed by the old one. */
  const rotated = useGateway({ ENCRYPTION_KEYS: `second:${secondKey},first:${firstKey}` }, gateway);
  const tokens = { accessToken: 'access', refreshToken: 'refresh' };

  const store = async (userId: string, at = gateway) => {
    expect((await at.as(userId).rest.put('/editor/auth/subscription', tokens)).status).toBe(200);
  };
  const status = async (userId: string, at = gateway) => (await at.as(userId).rest.get('/editor/auth')).body;
  const credential = (userId: string, at = gateway) => at.as(platform).editorCredential({ userId });

  /** Expects an internal error for reading a credential that cannot be decrypted. */
  async function expectUnreadable(userId: string, at = gateway) {
    const query = 'query ($userId: ID!) { editorCredential(userId: $userId) { accessToken } }';
    const reply = await at.as(platform).graphql(query, { userId });
    expect(reply.errors.map(({ extensions }) => extensions.code)).toEqual(['INTERNAL_ERROR']);
    expect(reply.data?.editorCredential ?? null).toBeNull();
    expect(reply.text).not.toContain('key');
  }

  test("does not decrypt a ciphertext that was moved to another user's row or another version", async () => {
    await store('victim');
    await store('thief');
    await gateway.database.sql(
      `update editor_credential set ciphertext = (select ciphertext from editor_credential where user_id = 'victim')
        where user_id = 'thief'`,
    );
    await expectUnreadable('thief');
    expect(await credential('victim')).toMatchObject(tokens);

    await gateway.database.sql(`update editor_credential set version = '7' where user_id = 'victim'`);
    await expectUnreadable('victim');
  });

  test('requires reauthentication for a credential whose key is not configured, and returns the platform an error', async () => {
    await store('locked');
    const reauth_reason = 'credential_unreadable';
    const unreadable = { auth: { type: 'subscription' }, needs_reauth: true, reauth_reason };
    expect(await status('locked', withoutKey)).toStrictEqual(unreadable);
    await expectUnreadable('locked', withoutKey);
    expect(await status('locked')).toMatchObject({ needs_reauth: false });

    await store('locked', withoutKey);
    expect(await status('locked', withoutKey)).toMatchObject({ needs_reauth: false });
    expect(await credential('locked', withoutKey)).toMatchObject(tokens);
  });

  test('deletes a credential that it cannot read', async () => {
    await store('lost');
    expect((await withoutKey.as('lost').rest.delete('/editor/auth')).status).toBe(204);
    expect(await status('lost', withoutKey)).toMatchObject({ auth: { type: 'none' }, needs_reauth: false });
  });

  test('after a key rotation reads old credentials, and stores new ones with the new key', async () => {
    await store('rotating');
    expect(await credential('rotating', rotated)).toMatchObject(tokens);
    await store('rotating', rotated);
    expect(await status('rotating')).toMatchObject({ reauth_reason: 'credential_unreadable' });
    expect(await credential('rotating', withoutKey)).toMatchObject(tokens);
  });
});
