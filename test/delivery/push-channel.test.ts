import { createPublicKey } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { vapidKey } from '../../src/config/delivery-formats.ts';
import type { PushConfig } from '../../src/config.ts';
import { bindChannel } from '../../src/delivery/channel.ts';
import type { Message } from '../../src/delivery/message.ts';
import { createPushChannel } from '../../src/delivery/push/push-channel.ts';
import { createLog } from '../../src/log.ts';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import { Secret } from '../../src/values/secret.ts';
import { toTime } from '../../src/values/time.ts';
import { claim, data } from '../support/delivery-job.ts';
import { createBrowser, type PushService, type Reply, startPushService } from '../support/push-service.ts';

const privateKey = vapidKey.parse('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw');
const browser = createBrowser();
const TIMEOUT_MS = 5000;

const inSeconds = (seconds: number) => toTime(new Date(Date.now() + seconds * 1000));
const message: Message = {
  userId: 'alice',
  notificationId: 'n-1',
  kind: 'plan_requested',
  title: 'Add a login page',
  request: 'A plan needs your approval.',
  details: 'First the form.',
  questions: [],
  taskName: null,
  projectName: null,
  occurredAt: inSeconds(0),
  expiresAt: inSeconds(3600),
  url: null,
};

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function start(reply?: Reply): Promise<PushService> {
  const service = await startPushService(reply);
  cleanups.push(service.close);
  return service;
}

function openChannel(allowedHosts: readonly string[] = []) {
  const config: PushConfig = { privateKey, subject: 'mailto:ops@example.com', allowedHosts };
  const channel = createPushChannel(config);
  cleanups.push(channel.close);
  return channel;
}

const targetAt = (endpoint: string) => ({
  endpoint: new Secret(endpoint),
  p256dh: new Secret(browser.keys.p256dh),
  auth: new Secret(browser.keys.auth),
});

/** Sends a message to a service, which is allowed. */
async function send(
  { host }: PushService,
  changes: Partial<Message> = {},
  signal = AbortSignal.timeout(TIMEOUT_MS),
) {
  const target = targetAt(`https://${host}/send/abc`);
  return openChannel([host]).send({ ...message, ...changes }, target, signal);
}

describe('requests', () => {
  test('have the headers of RFC 8030, 8188 and 8292, and a body that the browser decrypts', async () => {
    const service = await start();

    expect(await send(service)).toEqual({ kind: 'delivered' });

    const [{ method, url, headers, body } = expect.fail('No request was received.')] = service.requests;
    expect({ method, url }).toEqual({ method: 'POST', url: '/send/abc' });
    expect(headers).toMatchObject({
      host: service.host,
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      'content-length': String(body.length),
      urgency: 'high',
      topic: expect.stringMatching(/^[\w-]{32}$/),
    });
    expect(Number(headers.ttl)).toBeGreaterThan(3590);
    expect(Number(headers.ttl)).toBeLessThanOrEqual(3600);
    const [, token = ''] = /^vapid t=(\S+), k=\S+$/.exec(headers.authorization ?? '') ?? [];
    await jwtVerify(token, createPublicKey(privateKey), { audience: `https://${service.host}` });
    expect(JSON.parse(browser.decrypt(body))).toMatchObject({ notificationId: 'n-1', title: message.title });
  });

  test.each(notificationKinds)(
    '%s messages have high urgency only if the task waits for the user',
    async (kind) => {
      const service = await start();
      await send(service, { kind });

      const waits = ['plan_requested', 'question_requested'].includes(kind);
      expect(service.requests[0]?.headers.urgency).toBe(waits ? 'high' : 'normal');
    },
  );

  test.each([
    ['expired', inSeconds(-60), '0'],
    ['far in the future', inSeconds(365 * 86_400), String(28 * 86_400)],
  ])('limits the TTL of a message that is %s', async (_what, expiresAt, ttl) => {
    const service = await start();
    await send(service, { expiresAt });

    expect(service.requests[0]?.headers.ttl).toBe(ttl);
  });

  test('all attempts have the same topic, and each user and notification has a different one', async () => {
    const service = await start();
    const others = [
      { userId: 'bob' },
      { notificationId: 'n-2' },
      { userId: 'alice","n', notificationId: '1' },
    ];
    for (const changes of [{}, {}, ...others]) await send(service, changes);

    const [first, again, ...different] = service.requests.map(({ headers }) => headers.topic);
    expect(again).toBe(first);
    expect(new Set([first, ...different]).size).toBe(1 + others.length);
  });

  test('use one connection for several messages', async () => {
    const service = await start();
    const channel = openChannel([service.host]);
    for (let count = 0; count < 3; count += 1) {
      await channel.send(
        message,
        targetAt(`https://${service.host}/${count}`),
        AbortSignal.timeout(TIMEOUT_MS),
      );
    }

    expect([service.requests.length, service.connections()]).toEqual([3, 1]);
  });

  test('have at most 4096 bytes', async () => {
    const service = await start();
    await send(service, { details: 'é'.repeat(100_000) });

    expect(service.requests[0]?.body.length).toBeLessThanOrEqual(4096);
    expect(service.requests[0]?.body.length).toBeGreaterThan(4090);
  });
});

describe('replies', () => {
  const withStatus =
    (status: number, headers: Record<string, string> = {}, body = ''): Reply =>
    (response) =>
      void response.writeHead(status, headers).end(body);

  test.each<[what: string, reply: Reply, outcome: object]>([
    ['201', withStatus(201, { Location: 'https://push.example.com/m/1' }), { kind: 'delivered' }],
    ['404', withStatus(404), { kind: 'failed', suspendTarget: true, providerCode: '404' }],
    ['410', withStatus(410), { kind: 'failed', suspendTarget: true, providerCode: '410' }],
    ['401', withStatus(401), { kind: 'unavailable', needsOperator: true, providerCode: '401' }],
    ['413', withStatus(413), { kind: 'failed', suspendTarget: false, providerCode: '413' }],
    [
      '429 with Retry-After',
      withStatus(429, { 'Retry-After': '30' }),
      { kind: 'retry', reason: 'rate_limited', retryAfterSeconds: 30 },
    ],
    ['500', withStatus(500), { kind: 'unavailable', needsOperator: false, providerCode: '500' }],
    ['a long body', withStatus(410, {}, 'x'.repeat(1_000_000)), { kind: 'failed', providerCode: '410' }],
    [
      'a body that is cut off',
      (response, socket) => {
        response.writeHead(410, { 'Content-Length': '100' }).write('x', () => socket.destroy());
      },
      { kind: 'failed', providerCode: '410' },
    ],
    [
      'no reply before the connection closes',
      (_response, socket) => socket.destroy(),
      { kind: 'retry', reason: 'reply_lost', providerCode: 'ECONNRESET' },
    ],
    [
      'a reply that is not HTTP',
      (_response, socket) => void socket.end('SSH-2.0-OpenSSH\r\n\r\n'),
      { kind: 'retry', reason: 'reply_lost', providerCode: 'HPE_INVALID_CONSTANT' },
    ],
  ])('%s', async (_what, reply, outcome) => {
    expect(await send(await start(reply))).toMatchObject(outcome);
  });

  test.each([301, 302, 303, 307, 308])('a redirect with %i is not followed', async (status) => {
    const other = await start();
    const service = await start(withStatus(status, { Location: `https://${other.host}/` }));
    const channel = openChannel([service.host, other.host]);

    const outcome = await channel.send(
      message,
      targetAt(`https://${service.host}/`),
      AbortSignal.timeout(TIMEOUT_MS),
    );

    expect(outcome).toMatchObject({ kind: 'failed', suspendTarget: false, providerCode: String(status) });
    expect(other.connections()).toBe(0);
  });

  test('reports a lost reply when the attempt is aborted while waiting', async () => {
    const controller = new AbortController();
    const service = await start(() => controller.abort());

    expect(await send(service, {}, controller.signal)).toEqual({
      kind: 'unavailable',
      needsOperator: false,
      reason: 'reply_lost',
      providerCode: 'ABORT_ERR',
    });
  });

  test('returns the outcome at the head of the reply, and closes the connection of an endless body', async () => {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const service = await start((response) => {
      response.writeHead(201).write('x');
      response.once('close', close);
    });

    expect(await send(service, {}, new AbortController().signal)).toEqual({ kind: 'delivered' });
    await closed;
  });

  test('sends nothing if the attempt is already aborted', async () => {
    const service = await start();

    expect(await send(service, {}, AbortSignal.abort())).toMatchObject({
      kind: 'unavailable',
      reason: 'provider_unavailable',
    });
    expect(service.requests).toEqual([]);
  });
});

describe('connections', () => {
  const unavailable = { kind: 'unavailable', needsOperator: false, reason: 'provider_unavailable' };

  test('a closed port makes the host unavailable', async () => {
    const service = await startPushService();
    await service.close();

    expect(await send(service)).toEqual({ ...unavailable, providerCode: 'ECONNREFUSED' });
  });

  test('a certificate that is not trusted makes the host unavailable', async () => {
    const service = await startPushService(undefined, { isTrusted: false });
    cleanups.push(service.close);

    expect(await send(service)).toEqual({ ...unavailable, providerCode: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(service.requests).toEqual([]);
  });

  test('a host that does not exist is unavailable', async () => {
    const target = targetAt('https://push.invalid/');

    expect(await openChannel().send(message, target, AbortSignal.timeout(TIMEOUT_MS))).toMatchObject({
      ...unavailable,
      providerCode: 'ENOTFOUND',
    });
  });

  test('an address that is not public and a port are refused, and a local name is not found, unless allowed', async () => {
    const service = await start();
    const sendTo = (endpoint: string) =>
      openChannel().send(message, targetAt(endpoint), AbortSignal.timeout(TIMEOUT_MS));

    for (const endpoint of [`https://${service.host}/`, 'https://127.0.0.1/', 'https://[::1]/']) {
      expect(await sendTo(endpoint)).toEqual({
        kind: 'failed',
        suspendTarget: true,
        reason: 'recipient_rejected',
        providerCode: 'ERR_ENDPOINT_NOT_ALLOWED',
      });
    }
    expect(await sendTo('https://localhost/')).toEqual({ ...unavailable, providerCode: 'ENOTFOUND' });
    expect(service.connections()).toBe(0);
    expect(await send(service)).toEqual({ kind: 'delivered' });
  });

  test('logs an unexpected error and retries', async () => {
    const service = await start();
    const target = { ...targetAt(`https://${service.host}/`), p256dh: new Secret('AAAA') };
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => void lines.push(line) });
    const channel = bindChannel(openChannel([service.host]), async () => target, log);

    const attempt = (await channel.prepare(data)) ?? expect.unreachable();
    const code = 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY';
    expect(await attempt(claim, message, AbortSignal.timeout(TIMEOUT_MS))).toMatchObject({
      kind: 'retry',
      providerCode: code,
    });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 50, err: { code } }]);
    expect(service.connections()).toBe(0);
  });
});
