import { createSecretKey, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { CompactEncrypt, decodeProtectedHeader } from 'jose';
import { expect, test } from 'vitest';
import { createCredentialCipher } from '../src/encryption/credential-cipher.ts';
import { Secret } from '../src/values/secret.ts';

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
const pairOf = (accessToken: string, refreshToken: string) => ({
  accessToken: new Secret(accessToken),
  refreshToken: new Secret(refreshToken),
});
const pair = pairOf('access', 'refresh');

async function open(ciphertext: string, of = owner, by = cipher) {
  const { accessToken, refreshToken } = await by.decrypt(ciphertext, of);
  return [accessToken.reveal(), refreshToken.reveal()];
}

test('any pair of any owner opens as it was', async () => {
  const token = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 2000 });
  const owners = fc.record({
    userId: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 }),
    version: fc.uuid({ version: 7 }),
  });
  await fc.assert(
    fc.asyncProperty(token, token, owners, async (access, refresh, owner) => {
      const ciphertext = await cipher.encrypt(pairOf(access, refresh), owner);
      expect(await open(ciphertext, owner)).toEqual([access, refresh]);
    }),
  );
});

test('the same pair never looks the same, and shows neither token', async () => {
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
  ['a user of another case', { ...owner, userId: 'Alice' }],
  ['another version', { ...owner, version: '0199a000-0000-7000-8000-000000000004' }],
])('a ciphertext does not open for %s', async (_what, other) => {
  const ciphertext = await cipher.encrypt(pair, owner);
  await expect(open(ciphertext, other)).rejects.toThrow('another user or version');
});

test('a ciphertext whose header has a number opens for the same number as text, and for no other', async () => {
  const content = new TextEncoder().encode(
    JSON.stringify({ accessToken: 'access', refreshToken: 'refresh' }),
  );
  const ciphertext = await new CompactEncrypt(content)
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: 'first', user: 'alice', version: 3 })
    .encrypt(first);
  expect(await open(ciphertext, { userId: 'alice', version: '3' })).toEqual(['access', 'refresh']);
  await expect(open(ciphertext, { userId: 'alice', version: '03' })).rejects.toThrow(
    'another user or version',
  );
});

test('changing any character of a ciphertext keeps it from opening', async () => {
  const ciphertext = await cipher.encrypt(pair, owner);
  const changed = fc.integer({ min: 0, max: ciphertext.length - 1 }).chain((at) =>
    fc.constantFrom('A', 'Q', '_', '.').map((character) => ({
      at,
      text: ciphertext.slice(0, at) + character + ciphertext.slice(at + 1),
    })),
  );
  const bytesOf = (text: string) =>
    text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'));
  await fc.assert(
    fc.asyncProperty(changed, async ({ text }) => {
      // The last character of a part may carry bits that stand for nothing.
      fc.pre(bytesOf(text).join('.') !== bytesOf(ciphertext).join('.'));
      await expect(open(text)).rejects.toThrow();
    }),
  );
});

test('the first key encrypts, and every key decrypts', async () => {
  const [old, fresh] = [await cipher.encrypt(pair, owner), await rotated.encrypt(pair, owner)];
  expect(cipher.currentKeyId).toBe('first');
  expect(rotated.currentKeyId).toBe('second');
  expect(decodeProtectedHeader(fresh)).toMatchObject({ alg: 'dir', enc: 'A256GCM', kid: 'second' });
  expect(await open(old, owner, rotated)).toEqual(['access', 'refresh']);
  expect(await open(fresh, owner, rotated)).toEqual(['access', 'refresh']);
});

test('a key that is not configured is known by its id, and the error names it', async () => {
  const ciphertext = await rotated.encrypt(pair, owner);
  expect([cipher.canRead('first'), cipher.canRead('second')]).toEqual([true, false]);
  await expect(open(ciphertext)).rejects.toThrow('does not contain the key "second"');
});

test('another key under the same id does not open, and the error shows no token', async () => {
  const ciphertext = await cipher.encrypt(pair, owner);
  const impostor = createCredentialCipher(new Map([['first', newKey()]]));
  await expect(open(ciphertext, owner, impostor)).rejects.toThrow(/^(?!.*(access|refresh))/);
});

test.each([
  ['another content encryption', { alg: 'dir', enc: 'A128CBC-HS256' }],
  ['another key management', { alg: 'A256GCMKW', enc: 'A256GCM' }],
])('a ciphertext by %s is refused, though its key is right', async (_what, header) => {
  const content = new TextEncoder().encode(JSON.stringify({ accessToken: 'a', refreshToken: 'r' }));
  const ciphertext = await new CompactEncrypt(content)
    .setProtectedHeader({ ...header, kid: 'first', user: owner.userId, version: owner.version })
    .encrypt(first);
  await expect(open(ciphertext)).rejects.toThrow(/not allowed/);
});

test('a cipher without keys is not made', () => {
  expect(() => createCredentialCipher(new Map())).toThrow('contains no key');
});
