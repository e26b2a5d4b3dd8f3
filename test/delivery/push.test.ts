import { createECDH, createPublicKey } from 'node:crypto';
import fc from 'fast-check';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { vapidKey } from '../../src/config/delivery-formats.ts';
import { readConfig } from '../../src/config.ts';
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
import { classifyPostResult, type PostResult } from '../../src/delivery/push/post.ts';
import { createPushChannel, formatPayload } from '../../src/delivery/push/push-channel.ts';
import { Secret } from '../../src/values/secret.ts';
import { toTime } from '../../src/values/time.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { unreachableProviders } from '../support/delivery.ts';
import { runProcess } from '../support/process.ts';
import { createBrowser, type PushService, type Reply, startPushService } from '../support/push-service.ts';
import { formatOutcome, message } from './providers.ts';

const privateKey = vapidKey.parse(unreachableProviders.VAPID_PRIVATE_KEY);
const browser = createBrowser();
const inSeconds = (seconds: number) => toTime(new Date(Date.now() + seconds * 1000));

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function start(...given: Parameters<typeof startPushService>): Promise<PushService> {
  const service = await startPushService(...given);
  cleanups.push(service.close);
  return service;
}

const targetAt = (endpoint: string) => ({
  endpoint: new Secret(endpoint),
  p256dh: new Secret(browser.keys.p256dh),
  auth: new Secret(browser.keys.auth),
});

/** Opens a channel that may send to hosts without a public address. */
function openChannel(...allowedHosts: string[]) {
  const channel = createPushChannel({ privateKey, subject: 'mailto:ops@example.com', allowedHosts });
  cleanups.push(channel.close);
  return {
    channel,
    /** Sends the message to an endpoint, and formats the outcome. */
    send: async (endpoint: string, changes: Partial<Message> = {}, signal = AbortSignal.timeout(5000)) =>
      formatOutcome(await channel.send({ ...message, ...changes }, targetAt(endpoint), signal)),
  };
}

/** Sends a message to a service, which is allowed. */
const send = ({ host }: PushService, changes?: Partial<Message>, signal?: AbortSignal) =>
  openChannel(host).send(`https://${host}/send/abc`, changes, signal);

/** Sends a message to a service that accepts it, and returns the request. */
async function request(changes: Partial<Message> = {}) {
  const service = await start();
  expect(await send(service, changes)).toBe('delivered');
  return { host: service.host, ...(service.requests[0] ?? expect.unreachable('No request was received.')) };
}

describe('requests', () => {
  test('have the headers of RFC 8030, 8188 and 8292, and a body that the browser decrypts', async () => {
    const { host, method, url, headers, body } = await request({ expiresAt: inSeconds(3600) });

    expect({ method, url }).toEqual({ method: 'POST', url: '/send/abc' });
    expect(headers).toMatchObject({
      host,
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      'content-length': String(body.length),
      urgency: 'high',
      topic: expect.stringMatching(/^[\w-]{32}$/),
      authorization: expect.stringMatching(/^vapid t=\S+, k=\S+$/),
    });
    expect(Number(headers.ttl)).toBeGreaterThan(3590);
    expect(Number(headers.ttl)).toBeLessThanOrEqual(3600);
    expect(JSON.parse(browser.decrypt(body))).toMatchObject({ notificationId: 'n-1', title: message.title });
  });

  test.each<[what: string, changes: Partial<Message>, headers: object]>([
    ['an expired message have a TTL of 0', { expiresAt: inSeconds(-60) }, { ttl: '0' }],
    [
      'a message that lives a year have a TTL of four weeks',
      { expiresAt: inSeconds(365 * 86_400) },
      { ttl: `${28 * 86_400}` },
    ],
    ['a question are urgent', { kind: 'question_requested' }, { urgency: 'high' }],
    ['a failure are not urgent', { kind: 'task_failed' }, { urgency: 'normal' }],
    ['a response are not urgent', { kind: 'task_response_ready' }, { urgency: 'normal' }],
  ])('of %s', async (_what, changes, headers) => {
    expect((await request(changes)).headers).toMatchObject(headers);
  });

  test('have the same topic in all attempts, and a different one for each user and notification', async () => {
    const others = [
      { userId: 'bob' },
      { notificationId: 'n-2' },
      { userId: 'alice","n', notificationId: '1' },
    ];
    const requests = await Promise.all([{}, {}, ...others].map((changes) => request(changes)));

    const [first, again, ...different] = requests.map(({ headers }) => headers.topic);
    expect(again).toBe(first);
    expect(new Set([first, ...different]).size).toBe(1 + others.length);
  });
});

describe('replies', () => {
  const withStatus =
    (status: number, headers: Record<string, string> = {}, body = ''): Reply =>
    (response) =>
      void response.writeHead(status, headers).end(body);
  const gone = 'failed recipient_rejected 410 suspendTarget';

  test.each<[what: string, reply: Reply, outcome: string]>([
    ['201', withStatus(201, { Location: 'https://push.example.com/m/1' }), 'delivered'],
    ['429 with Retry-After', withStatus(429, { 'Retry-After': '30' }), 'retry rate_limited 429 after 30 s'],
    ['a long body', withStatus(410, {}, 'x'.repeat(1_000_000)), gone],
    [
      'no reply before the connection closes',
      (_response, socket) => socket.destroy(),
      'retry reply_lost ECONNRESET',
    ],
    [
      'a reply that is not HTTP',
      (_response, socket) => void socket.end('SSH-2.0-OpenSSH\r\n\r\n'),
      'retry reply_lost HPE_INVALID_CONSTANT',
    ],
  ])('%s', async (_what, reply, outcome) => {
    expect(await send(await start(reply))).toBe(outcome);
  });

  test.each([301, 307])('a redirect with %i is not followed', async (status) => {
    const other = await start();
    const service = await start(withStatus(status, { Location: `https://${other.host}/` }));

    const outcome = await openChannel(service.host, other.host).send(`https://${service.host}/`);
    expect(outcome).toBe(`failed message_rejected ${status}`);
    expect(other.connections()).toBe(0);
  });

  test('reports a lost reply when the attempt is aborted while waiting, and sends nothing after it', async () => {
    const controller = new AbortController();
    const service = await start(() => controller.abort());

    expect(await send(service, {}, controller.signal)).toBe('unavailable reply_lost ABORT_ERR');
    expect(await send(service, {}, controller.signal)).toMatch(/^unavailable provider_unavailable/);
    expect(service.requests).toHaveLength(1);
  });

  test('returns the outcome at the head of the reply, and closes the connection of an endless body', async () => {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const service = await start((response) => {
      response.writeHead(201).write('x');
      response.once('close', close);
    });

    expect(await send(service, {}, new AbortController().signal)).toBe('delivered');
    await closed;
  });

  const reply = (status: number, retryAfter?: string): PostResult => ({ kind: 'reply', status, retryAfter });
  const error = (code: string, wasSent: boolean, isAborted = false): PostResult => ({
    kind: 'error',
    code,
    wasSent,
    isAborted,
  });

  test.each<[outcome: string, results: PostResult[]]>([
    ['delivered', [200, 201, 202].map((status) => reply(status))],
    ['failed message_rejected CODE', [307, 400, 413].map((status) => reply(status))],
    ['failed recipient_rejected CODE suspendTarget', [404, 410].map((status) => reply(status))],
    ['unavailable provider_refused CODE needsOperator', [401, 403].map((status) => reply(status))],
    ['retry provider_unavailable CODE', [reply(408)]],
    ['retry provider_unavailable CODE after 5 s', [reply(425, '5')]],
    ['retry rate_limited CODE', [reply(429)]],
    ['retry rate_limited CODE after 120 s', [reply(429, '120')]],
    ['unavailable provider_unavailable CODE isUnclear', [reply(500)]],
    ['unavailable provider_unavailable CODE after 90 s', [reply(503, 'Mon, 04 May 2026 10:01:30 GMT')]],
    [
      'unavailable provider_unavailable CODE',
      [
        ...['ENOTFOUND', 'ECONNREFUSED', 'CERT_HAS_EXPIRED'].map((code) => error(code, false)),
        error('ABORT_ERR', false, true),
      ],
    ],
    ['unavailable reply_lost CODE', [error('ABORT_ERR', true, true)]],
    ['retry reply_lost CODE', [error('ECONNRESET', true)]],
  ])('%s', (outcome, results) => {
    for (const result of results) {
      const code = result.kind === 'reply' ? String(result.status) : result.code;
      const found = classifyPostResult(result, Date.parse(message.occurredAt));
      expect(formatOutcome(found)).toBe(outcome.replace('CODE', code));
    }
  });
});

describe('connections', () => {
  const unavailable = 'unavailable provider_unavailable';

  test('make the host unavailable if its port is closed, its certificate not trusted, or it does not exist', async () => {
    const closed = await startPushService();
    await closed.close();
    expect(await send(closed)).toBe(`${unavailable} ECONNREFUSED`);

    const untrusted = await start(undefined, { isTrusted: false });
    expect(await send(untrusted)).toBe(`${unavailable} DEPTH_ZERO_SELF_SIGNED_CERT`);
    expect(untrusted.requests).toEqual([]);

    expect(await openChannel().send('https://push.invalid/')).toBe(`${unavailable} ENOTFOUND`);
  });

  test('an address that is not public and a port are refused, and a local name is not found, unless allowed', async () => {
    const service = await start();
    const { send: sendTo } = openChannel();
    const refused = 'failed recipient_rejected ERR_ENDPOINT_NOT_ALLOWED suspendTarget';

    for (const endpoint of [`https://${service.host}/`, 'https://127.0.0.1/', 'https://[::1]/'])
      expect(await sendTo(endpoint)).toBe(refused);
    expect(await sendTo('https://localhost/')).toBe(`${unavailable} ENOTFOUND`);
    expect(service.connections()).toBe(0);
    expect(await send(service)).toBe('delivered');
  });
});

describe('payload', () => {
  const read = (message: Message) => JSON.parse(formatPayload(message).toString());

  test('contains what the service worker shows', () => {
    expect(read(message)).toEqual({
      notificationId: 'n-1',
      kind: 'plan_requested',
      title: 'Add a login page',
      request: 'A plan needs your approval.',
      details: '1. Add a form\n2. Test it',
      url: 'https://app.example.com/inbox/n-1',
    });
  });

  test('shortens the details first, by whole code points', () => {
    const details = '👩‍🚀é"\n'.repeat(2000);
    const { details: shortened, ...others } = read({ ...message, details });

    expect(others).toEqual({ ...read(message), details: undefined });
    expect(shortened.isWellFormed()).toBe(true);
    expect(details.startsWith(shortened.slice(0, -1))).toBe(true);
    expect(formatPayload({ ...message, details }).length).toBeGreaterThan(MAX_CONTENT_BYTES - 8);
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

  test('is decrypted by http_ece with the keys of a browser, has at most 4096 bytes, and is never the same twice', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 500 });
    fc.assert(
      fc.property(fc.oneof(text, fc.constant('a'.repeat(MAX_CONTENT_BYTES))), (content) => {
        const { keys, decrypt } = createBrowser();
        const encrypt = () =>
          encryptMessage(Buffer.from(content), {
            p256dh: fromBase64(keys.p256dh),
            auth: fromBase64(keys.auth),
          });
        const one = encrypt();
        expect(one.length).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
        expect(encrypt()).not.toEqual(one);
        expect(decrypt(one)).toBe(content);
      }),
      { numRuns: 30 },
    );
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

test('the VAPID token has the origin as audience, the subject, and expires within 24 hours', async () => {
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
  expect(await authorize('https://b.example.com')).not.toBe(header);
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
