import { createECDH, createPublicKey, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { decrypt } from 'http_ece';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { vapidKey } from '../../src/config/delivery-formats.ts';
import { readConfig } from '../../src/config.ts';
import {
  createAuthorize,
  encryptContent,
  encryptMessage,
  formatPublicKey,
  isPublicPoint,
  MAX_CONTENT_BYTES,
  MAX_MESSAGE_BYTES,
} from '../../src/delivery/push/encryption.ts';
import { runProcess } from '../support/process.ts';
import { type Browser, createBrowser } from '../support/push-service.ts';

const fromBase64 = (text: string) => Buffer.from(text, 'base64url');

/** RFC 8291, section 5 and appendix A. */
const example = {
  text: 'When I grow up, I want to be a watermelon',
  senderPrivate: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  senderPublic: 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
  browserPrivate: 'q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94',
  browserPublic: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  salt: 'DGv6ra1nlYgDCS1FRnbzlw',
  /** IKM in the table of intermediate values. */
  inputKey: 'S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg',
  message:
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
};

const encryptFor = ({ keys }: Browser, content: string) =>
  encryptMessage(Buffer.from(content), { p256dh: fromBase64(keys.p256dh), auth: fromBase64(keys.auth) });

describe('message encryption', () => {
  test('encrypts the example of RFC 8291, section 5', () => {
    const sender = createECDH('prime256v1');
    sender.setPrivateKey(fromBase64(example.senderPrivate));
    expect(sender.getPublicKey('base64url')).toBe(example.senderPublic);

    const message = encryptMessage(
      Buffer.from(example.text),
      { p256dh: fromBase64(example.browserPublic), auth: fromBase64(example.auth) },
      { salt: fromBase64(example.salt), sender },
    );

    expect(message.toString('base64url')).toBe(example.message);
  });

  test('derives the key and nonce of RFC 8291, appendix A, from the input key', () => {
    const message = encryptContent(
      Buffer.from(example.text),
      fromBase64(example.inputKey),
      fromBase64(example.salt),
      fromBase64(example.senderPublic),
    );

    expect(message.toString('base64url')).toBe(example.message);
  });

  test('encrypts the example of RFC 8188, section 3.1', () => {
    const message = encryptContent(
      Buffer.from('I am the walrus'),
      fromBase64('yqdlZ-tYemfogSmv7Ws5PQ'),
      fromBase64('I1BsxtFttlv3u_Oo94xnmw'),
      Buffer.alloc(0),
    );

    expect(message.toString('base64url')).toBe(
      'I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg',
    );
  });

  test('is decrypted by http_ece, for any content and key', () => {
    const bytes = (minLength: number, maxLength: number) =>
      fc.uint8Array({ minLength, maxLength }).map((array) => Buffer.from(array));
    fc.assert(
      fc.property(bytes(0, MAX_CONTENT_BYTES), bytes(16, 16), bytes(16, 16), (content, key, salt) => {
        const message = encryptContent(content, key, salt, Buffer.alloc(0));
        expect(decrypt(message, { version: 'aes128gcm', key })).toEqual(content);
      }),
    );
  });

  test('is decrypted by http_ece with the keys of a browser, and is never the same twice', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 500 });
    fc.assert(
      fc.property(text, (content) => {
        const browser = createBrowser();
        const [one = Buffer.of(), two] = [1, 2].map(() => encryptFor(browser, content));
        expect(one).not.toEqual(two);
        expect([one, two ?? Buffer.of()].map(browser.decrypt)).toEqual([content, content]);
      }),
      { numRuns: 30 },
    );
  });

  test('content of the maximum length makes a message of 4096 bytes', () => {
    const browser = createBrowser();
    const content = 'a'.repeat(MAX_CONTENT_BYTES);
    const message = encryptFor(browser, content);

    expect(message).toHaveLength(MAX_MESSAGE_BYTES);
    expect(browser.decrypt(message)).toBe(content);
  });

  test('only uncompressed points on P-256 are public keys', () => {
    const point = fromBase64(example.browserPublic);
    const off = Buffer.from(point);
    off[20] = (off[20] ?? 0) ^ 1;
    const hybrid = Buffer.from(point);
    hybrid[0] = 6;
    const compressed = Buffer.concat([Buffer.of(2), point.subarray(1, 33)]);
    const other = createECDH('secp384r1').generateKeys();
    const bad = [off, hybrid, compressed, other, Buffer.alloc(65), Buffer.alloc(0), point.subarray(0, 64)];

    expect(isPublicPoint(point)).toBe(true);
    expect(bad.map(isPublicPoint)).toEqual(bad.map(() => false));
  });
});

const privateKey: KeyObject = vapidKey.parse(example.senderPrivate);

describe('VAPID', () => {
  test('the token has the origin as audience, the subject, and expires within 24 hours', async () => {
    const authorize = createAuthorize(privateKey, 'mailto:ops@example.com');

    const header = await authorize('https://push.example.com');

    const [, token = '', key] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(header) ?? [];
    expect(key).toBe(example.senderPublic);
    expect(decodeProtectedHeader(token)).toEqual({ typ: 'JWT', alg: 'ES256' });
    const { payload } = await jwtVerify(token, createPublicKey(privateKey), {
      audience: 'https://push.example.com',
    });
    expect(Object.keys(payload).sort()).toEqual(['aud', 'exp', 'sub']);
    expect(payload.sub).toBe('mailto:ops@example.com');
    const left = (payload.exp ?? 0) - Date.now() / 1000;
    expect(left).toBeGreaterThan(3600);
    expect(left).toBeLessThanOrEqual(24 * 3600);
  });

  test('signs once for each origin', async () => {
    const authorize = createAuthorize(privateKey, 'mailto:ops@example.com');
    const first = await authorize('https://a.example.com');

    expect(await authorize('https://a.example.com')).toBe(first);
    expect(await authorize('https://b.example.com')).not.toBe(first);
  });
});

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
