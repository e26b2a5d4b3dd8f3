import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page, Worker } from 'playwright-core';
import { build } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Message } from '../../src/delivery/message.ts';
import { formatPayload } from '../../src/delivery/push/push-channel.ts';
import { hasBrowser, startBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';

const pathTo = (name: string) => fileURLToPath(new URL(`../../clients/typescript/${name}`, import.meta.url));

const bundled = await build({ input: pathTo('src/subscribe-to-push.ts'), write: false });
const files: Readonly<Record<string, string>> = {
  '/push-service-worker.js': await readFile(pathTo('push-service-worker.js'), 'utf8'),
  '/subscribe-to-push.js': bundled.output[0].code,
};

/** The web app's server. */
const server = createServer((request, response) => {
  const script = files[request.url ?? ''];
  response.setHeader('Content-Type', script === undefined ? 'text/html' : 'text/javascript');
  response.end(script ?? '<!doctype html><title>Web app</title>');
});

const message: Message = {
  userId: 'alice',
  notificationId: 'run-81-failed',
  kind: 'task_failed',
  title: 'The build failed',
  request: 'The task failed.',
  details: 'Exit status 2',
  questions: [],
  taskName: null,
  projectName: null,
  occurredAt: '2026-05-04T10:00:00.000Z',
  expiresAt: '2026-05-05T10:00:00.000Z',
  url: 'https://app.example.com/inbox/run-81-failed',
};

let origin: string;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let worker: Worker;
/** What the page sent to the gateway. */
let sent: unknown;
beforeAll(async () => {
  if (!hasBrowser) return;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  origin = `http://127.0.0.1:${address.port}`;
  browser = await startBrowser();
  context = await browser.newContext();
  await context.grantPermissions(['notifications'], { origin });
  page = await context.newPage();
  // Chromium subscribes at Google's push service, which tests cannot reach. A subscription with an old key exists.
  await page.addInitScript(() => {
    let isSubscribed = true;
    const createSubscription = (members: object) =>
      Object.create(PushSubscription.prototype, Object.getOwnPropertyDescriptors(members));
    PushManager.prototype.getSubscription = async () =>
      createSubscription({
        async unsubscribe() {
          isSubscribed = false;
          return true;
        },
      });
    PushManager.prototype.subscribe = async (options) => {
      if (isSubscribed) throw new DOMException('The key differs.', 'InvalidStateError');
      const endpoint = 'https://push.example.com/1';
      const keys = { p256dh: `for ${options?.applicationServerKey}`, auth: 'secret' };
      return createSubscription({ endpoint, toJSON: () => ({ endpoint, expirationTime: null, keys }) });
    };
  });
  await page.goto(origin);
  const starting = context.waitForEvent('serviceworker');
  sent = await page.evaluate(async () => {
    const path = '/subscribe-to-push.js';
    const { subscribeToPush } = await import(path);
    const requests: unknown[] = [];
    const request = async ({ text }: { text: string }, variables: object) => {
      requests.push({ text, variables });
      return { pushPublicKey: 'the-key' };
    };
    return [await subscribeToPush({ request }), ...requests];
  });
  worker = await starting;
});
afterAll(async () => {
  await browser?.close();
  server.close();
});

/** Delivers a message as a push service does, after decryption. */
async function deliver(content: string): Promise<void> {
  const session = await context.newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      for (const { registrationId } of registrations) resolve(registrationId);
    });
  });
  await session.send('ServiceWorker.enable');
  await session.send('ServiceWorker.deliverPushMessage', {
    origin,
    registrationId: await registered,
    data: content,
  });
  await session.detach();
}

/** Lists the notifications that the browser shows. */
const listShown = () =>
  page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    const shown = await registration.getNotifications();
    return shown.map(({ title, body, tag, data }) => ({ title, body, tag, data }));
  });

test.skipIf(!hasBrowser)('replaces a subscription with another key, and registers the new one', () => {
  expect(sent).toEqual([
    'subscribed',
    { text: 'query PushPublicKey{pushPublicKey}', variables: {} },
    {
      text: expect.stringContaining('registerPushSubscription'),
      variables: {
        input: {
          endpoint: 'https://push.example.com/1',
          keys: { p256dh: 'for the-key', auth: 'secret' },
        },
      },
    },
  ]);
});

test.skipIf(!hasBrowser)('registers nothing without the permission or a key of the gateway', async () => {
  const results = await page.evaluate(async () => {
    const path = '/subscribe-to-push.js';
    const { subscribeToPush } = await import(path);
    const request = async () => ({ pushPublicKey: null });
    const withoutKey = await subscribeToPush({ request });
    Notification.requestPermission = async () => 'denied';
    return [withoutKey, await subscribeToPush({ request })];
  });
  expect(results).toEqual(['notConfigured', 'denied']);
});

test.skipIf(!hasBrowser)('shows each notification once, and opens its URL when it is clicked', async () => {
  await deliver(formatPayload(message).toString());
  await deliver(formatPayload({ ...message, details: null }).toString());
  const { notificationId: tag, title, request, url } = message;
  await eventually(async () =>
    expect(await listShown()).toEqual([{ title, body: request, tag, data: { url } }]),
  );

  const opened = await worker.evaluate(async () => {
    const scope: unknown = globalThis;
    const urls: string[] = [];
    // A click by a script may not open windows.
    Object.assign(Reflect.get(Object(scope), 'clients'), {
      openWindow: async (url: string) => urls.push(url),
    });
    const [notification] = await Reflect.get(Object(scope), 'registration').getNotifications();
    const NotificationEvent = Reflect.get(Object(scope), 'NotificationEvent');
    dispatchEvent(new NotificationEvent('notificationclick', { notification }));
    return urls;
  });
  expect(opened).toEqual([url]);
  await eventually(async () => expect(await listShown()).toEqual([]));
});
