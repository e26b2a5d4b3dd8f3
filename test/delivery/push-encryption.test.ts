import { createECDH, createPublicKey, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { decrypt } from 'http_ece';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { vapidKey } from '../../src/config/delivery-formats.ts';
import type { Message } from '../../src/delivery/message.ts';
import {
  createAuthorize,
  encryptContent,
  encryptMessage,
  formatPublicKey,
  isPublicPoint,
  MAX_CONTENT_BYTES,
  MAX_MESSAGE_BYTES,
} from '../../src/delivery/push/encryption.ts';
import { formatPayload } from '../../src/delivery/push/push-channel.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { createBrowser } from '../support/push-service.ts';

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
        const keys = { p256dh: fromBase64(browser.keys.p256dh), auth: fromBase64(browser.keys.auth) };
        const [one, two] = [1, 2].map(() => encryptMessage(Buffer.from(content), keys));
        expect(one).not.toEqual(two);
        for (const message of [one, two]) expect(browser.decrypt(message ?? Buffer.of())).toBe(content);
      }),
      { numRuns: 30 },
    );
  });

  test('content of the maximum length makes a message of 4096 bytes', () => {
    const { keys, decrypt } = createBrowser();
    const content = Buffer.alloc(MAX_CONTENT_BYTES, 'a');
    const message = encryptMessage(content, {
      p256dh: fromBase64(keys.p256dh),
      auth: fromBase64(keys.auth),
    });

    expect(message).toHaveLength(MAX_MESSAGE_BYTES);
    expect(decrypt(message)).toBe(content.toString());
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
  test('the public key is the uncompressed point of the private key', () => {
    expect(formatPublicKey(privateKey)).toBe(example.senderPublic);
  });

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

const message: Message = {
  userId: 'alice',
  notificationId: 'n-1',
  kind: 'plan_requested',
  title: 'Add a login page',
  request: 'A plan needs your approval.',
  details: 'First the form, then the session.',
  questions: [],
  taskName: 'Login',
  projectName: 'Shop',
  occurredAt: '2026-01-31T09:30:00.000Z',
  expiresAt: '2026-02-01T09:30:00.000Z',
  url: 'https://app.example.com/inbox/n-1',
};

describe('payload', () => {
  const read = (message: Message) => JSON.parse(formatPayload(message).toString());

  test('contains what the service worker shows', () => {
    expect(read(message)).toEqual({
      notificationId: 'n-1',
      kind: 'plan_requested',
      title: 'Add a login page',
      request: 'A plan needs your approval.',
      details: 'First the form, then the session.',
      url: 'https://app.example.com/inbox/n-1',
    });
  });

  test('shortens the details by whole code points, and nothing else', () => {
    const details = '👩‍🚀é"\n'.repeat(2000);
    const payload = formatPayload({ ...message, details });

    expect(payload.length).toBeLessThanOrEqual(MAX_CONTENT_BYTES);
    expect(payload.length).toBeGreaterThan(MAX_CONTENT_BYTES - 8);
    const { details: shortened, ...others } = JSON.parse(payload.toString());
    expect(others).toEqual({ ...read(message), details: undefined });
    expect(shortened.isWellFormed()).toBe(true);
    expect(shortened.endsWith('…')).toBe(true);
    expect(details.startsWith(shortened.slice(0, -1))).toBe(true);
  });

  test('omits the URL if shorter details are not enough, and then shortens the title and the request', () => {
    const long = '💬'.repeat(900);
    const url = `https://app.example.com/${'a'.repeat(3900)}`;
    expect(read({ ...message, url })).toEqual({ ...read(message), details: null, url: null });

    const { title, request, details } = read({ ...message, title: long, request: long, url });
    expect(details).toBeNull();
    expect(title).toMatch(/^💬*…?$/u);
    expect(request).toBe(long);

    const longest = read({ ...message, title: long, request: long.repeat(2) });
    expect(longest.title).toBe('');
    expect(longest.request).toMatch(/^(💬)+…$/u);
  });

  test('always fits, with the whole ID', () => {
    const text = fc.oneof(
      fc.string({ unit: arbitraryCharacter, maxLength: 300 }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }).map((part) => part.repeat(1500)),
    );
    const id = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(
        fc.record({ title: text, request: text, details: fc.option(text), url: fc.option(text), id }),
        ({ id, ...texts }) => {
          const payload = formatPayload({ ...message, ...texts, notificationId: id });
          expect(payload.length).toBeLessThanOrEqual(MAX_CONTENT_BYTES);
          expect(JSON.parse(payload.toString())).toMatchObject({ notificationId: id, kind: message.kind });
        },
      ),
    );
  });
});
