import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page, Worker } from 'playwright-core';
import { build } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { formatPayload } from '../../src/delivery/push/push-channel.ts';
import { listen } from '../../src/server/listen.ts';
import { message } from '../delivery/providers.ts';
import { describeInChromium } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';

const pathTo = (name: string) => fileURLToPath(new URL(`../../clients/typescript/${name}`, import.meta.url));

const bundled = await build({ input: pathTo('src/index.ts'), write: false });
const files: Readonly<Record<string, string>> = {
  '/push-service-worker.js': await readFile(pathTo('push-service-worker.js'), 'utf8'),
  '/client.js': bundled.output[0].code,
  '/app-worker.js': '// The service worker of the app.',
};

/** The operations that the gateway received, in place of which the app's server replies. */
const received: unknown[] = [];

const Operation = z.object({
  query: z.string(),
  variables: z.object({ input: z.object({ id: z.string().optional() }).optional() }),
});

const PAGE = `<!doctype html><title>Web app</title><script type="module">
  globalThis.client = await import('/client.js');
</script>`;

/** The web app's server. */
const server = createServer(async (request, response) => {
  if (request.url === '/graphql') {
    const { query, variables } = Operation.parse(await json(request));
    received.push([request.headers.authorization, /\w+ (\w+)/.exec(query)?.[1], variables.input?.id]);
    const data = {
      pushPublicKey: 'the-key',
      registerPushSubscription: { pushSubscription: { id: 'subscription-2' } },
      removePushSubscription: { removed: true },
    };
    return response.end(JSON.stringify({ data }));
  }
  const script = files[request.url ?? ''];
  response.setHeader('Content-Type', script === undefined ? 'text/html' : 'text/javascript');
  response.end(script ?? PAGE);
});

describeInChromium('push messages', (open) => {
  let origin: string;
  let context: BrowserContext;
  let page: Page;
  let worker: Worker;
  /** What the page sent to the gateway. */
  let sent: unknown;
  beforeAll(async () => {
    origin = await listen(server, { host: '127.0.0.1', port: 0 });
    ({ page } = await open('about:blank'));
    context = page.context();
    await context.grantPermissions(['notifications'], { origin });
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
    await page.goto(origin, { waitUntil: 'networkidle' });
    await page.evaluate(async () => {
      await navigator.serviceWorker.register('/app-worker.js');
      await navigator.serviceWorker.ready;
    });
    const starting = context.waitForEvent('serviceworker', (one) => one.url().includes('push'));
    sent = await page.evaluate(async () => {
      const { subscribeToPush } = Reflect.get(window, 'client');
      const requests: unknown[] = [];
      const request = async ({ text }: { text: string }, variables: object) => {
        requests.push({ text, variables });
        const registerPushSubscription = { pushSubscription: { id: 'subscription-1' } };
        return { pushPublicKey: 'the-key', registerPushSubscription };
      };
      return [await subscribeToPush({ request }), ...requests];
    });
    worker = await starting;
  });
  afterAll(() => void server.close());

  /** Delivers a message as a push service does, after decryption. */
  async function deliver(content: string): Promise<void> {
    const session = await context.newCDPSession(page);
    const registered = new Promise<string>((resolve) => {
      session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        for (const { registrationId, scopeURL } of registrations)
          if (scopeURL.endsWith('/workspace-account-push/')) resolve(registrationId);
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
      const registration = await navigator.serviceWorker.getRegistration('/workspace-account-push/');
      const shown = (await registration?.getNotifications()) ?? [];
      return shown.map(({ title, body, tag, data }) => ({ title, body, tag, data }));
    });

  test('replaces a subscription with another key, and registers the new one', () => {
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

  test("leaves the app's service worker as it is, and takes one that the app gives", async () => {
    const scopes = () =>
      page.evaluate(async () => {
        const registrations = await navigator.serviceWorker.getRegistrations();
        return registrations.map(({ scope, active }) => [
          new URL(scope).pathname,
          active?.scriptURL.split('/').at(-1),
        ]);
      });
    const expected = [
      ['/', 'app-worker.js'],
      ['/workspace-account-push/', 'push-service-worker.js'],
    ];
    expect(await scopes()).toEqual(expected);
    const result = await page.evaluate(async () => {
      const { subscribeToPush } = Reflect.get(window, 'client');
      const registerPushSubscription = { pushSubscription: { id: 'subscription-1' } };
      const request = async () => ({ pushPublicKey: 'the-key', registerPushSubscription });
      // A worker that never becomes ready for this page is not waited for.
      const registration = await navigator.serviceWorker.getRegistration('/workspace-account-push/');
      return subscribeToPush({ request }, { registration });
    });
    expect(result).toBe('subscribed');
    expect(await scopes()).toEqual(expected);
  });

  test('asks for the permission only if the gateway has a key, and registers nothing without', async () => {
    const results = await page.evaluate(async () => {
      const { subscribeToPush } = Reflect.get(window, 'client');
      let questions = 0;
      Notification.requestPermission = async () => {
        questions += 1;
        return 'denied';
      };
      const request = async () => ({ pushPublicKey: null });
      const withoutKey = [await subscribeToPush({ request }), questions];
      return [
        withoutKey,
        await subscribeToPush({ request: async () => ({ pushPublicKey: 'the-key' }) }),
        questions,
      ];
    });
    expect(results).toEqual([['notConfigured', 0], 'denied', 1]);
  });

  test('shows each notification once, and its URL in a page that listens to clicks or in another one', async () => {
    await deliver(formatPayload(message).toString());
    await deliver(formatPayload({ ...message, details: null }).toString());
    const { notificationId: tag, title, request, url } = message;
    await eventually(async () =>
      expect(await listShown()).toEqual([{ title, body: request, tag, data: { url } }]),
    );

    const click = () =>
      worker.evaluate(async () => {
        const scope: unknown = globalThis;
        const clients = Reflect.get(Object(scope), 'clients');
        const WindowClient = Reflect.get(Object(scope), 'WindowClient');
        // A click by a script may neither open windows nor bring them to the front.
        const { promise, resolve } = Promise.withResolvers<string>();
        Object.assign(clients, { openWindow: async (url: string) => resolve(`opens ${url}`) });
        WindowClient.prototype.focus = async () => resolve('focuses a page');
        const [notification] = await Reflect.get(Object(scope), 'registration').getNotifications();
        const NotificationEvent = Reflect.get(Object(scope), 'NotificationEvent');
        dispatchEvent(new NotificationEvent('notificationclick', { notification }));
        return promise;
      });
    expect(await click()).toBe(`opens ${url}`);
    await eventually(async () => expect(await listShown()).toEqual([]));

    await deliver(formatPayload(message).toString());
    await eventually(async () => expect(await listShown()).toHaveLength(1));
    await page.evaluate(async () => {
      const { onPushClick } = Reflect.get(window, 'client');
      onPushClick((clicked: unknown) => Object.assign(window, { clicked }));
    });
    expect(await click()).toBe('focuses a page');
    expect(await page.evaluate(() => Reflect.get(window, 'clicked'))).toEqual({ notificationId: tag, url });
  });

  test('ends the subscription in the browser and at the gateway, once', async () => {
    const removed = await page.evaluate(async () => {
      const { unsubscribeFromPush } = Reflect.get(window, 'client');
      const requests: unknown[] = [];
      const request = async (_document: unknown, variables: object) => void requests.push(variables);
      await unsubscribeFromPush({ request });
      await unsubscribeFromPush({ request });
      return requests;
    });
    expect(removed).toEqual([{ input: { id: 'subscription-1' } }]);
  });

  test('ends the subscription when the user signs out, with the last token', async () => {
    await page.evaluate(async () => {
      const { createInbox, subscribeToPush } = Reflect.get(window, 'client');
      Notification.requestPermission = async () => 'granted';
      const inbox = createInbox({ url: '/graphql', getToken: () => 'last' });
      await subscribeToPush(inbox);
      await inbox.signOut();
    });
    expect(received).toEqual([
      ['Bearer last', 'PushPublicKey', undefined],
      ['Bearer last', 'RegisterPush', undefined],
      ['Bearer last', 'RemovePush', 'subscription-2'],
    ]);
  });
});
