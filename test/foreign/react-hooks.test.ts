import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { build } from 'rolldown';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, openPage, startBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { publish } from '../support/records.ts';
import { answer, answers } from '../support/requests.ts';
import { signToken } from '../support/tokens.ts';
import { startWebApp, type WebApp } from '../support/web-app.ts';

if (!hasBrowser) process.stdout.write('react-hooks.test.ts: chromium was not found on the PATH, skipping.\n');

const clients = (path: string) => fileURLToPath(new URL(`../../clients/${path}`, import.meta.url));

async function bundlePage(): Promise<string> {
  const { output } = await build({
    input: clients('react/test/page.tsx'),
    resolve: { alias: { '@workspace-account/client': clients('typescript/src/index.ts') } },
    transform: { define: { 'process.env.NODE_ENV': '"development"' } },
    logLevel: 'silent',
    write: false,
  });
  return output[0].code;
}

describe.skipIf(!hasBrowser)(
  `hooks in Chromium${hasBrowser ? '' : ' (skipped: chromium was not found on the PATH)'}`,
  () => {
    let browser: Browser;
    let gateway: TestGateway;
    let app: WebApp;
    let page: Page;
    let issues: readonly string[];
    let tokenSeconds = 3600;

    beforeAll(async () => {
      gateway = await startTestGateway();
      browser = await startBrowser();
      const html =
        '<!doctype html><link rel="icon" href="data:," /><script type="module" src="/page.js"></script>';
      app = await startWebApp({
        files: new Map([
          ['/', html],
          ['/page.js', await bundlePage()],
        ]),
        gateway,
        getToken: (query) => {
          const exp = Math.floor(Date.now() / 1000) + tokenSeconds;
          return signToken({ sub: query.get('user') ?? '', org_id: 'acme', exp });
        },
      });
    });
    afterEach(async () => {
      await page.context().close();
      await eventually(() => expect(app.streams.open).toBe(0));
    });
    afterAll(async () => {
      await browser.close();
      await app.close();
      await gateway.close();
    });

    /** Opens the page, and counts streams from now on. */
    async function openApp(user: string): Promise<void> {
      app.streams.opened = 0;
      ({ page, issues } = await openPage(browser, app.origin));
      await call('page.setUser', user);
    }

    /** Calls a function of the page. */
    const call = (path: string, ...args: unknown[]): Promise<unknown> =>
      page.evaluate(
        ([names, values]) => {
          const found = names.reduce((value: unknown, name) => Reflect.get(Object(value), name), window);
          return typeof found === 'function' ? found(...values) : undefined;
        },
        [path.split('.'), args] as const,
      );

    const read = async (selector: string) =>
      (await page.locator(selector).textContent())?.replaceAll(/\s+/g, ' ').trim();
    const listText = () => read('#list');
    const countSubscribers = async () => (await scrape(gateway)).sum('gateway_live_subscribers');

    test('open one stream in strict mode, render what changes, and close it on unmount', async () => {
      await openApp('strict');
      await publish(gateway, 'strict', 'plan_requested', { title: 'First' });
      await call('page.mount');
      await eventually(async () => expect(await listText()).toBe('loaded live 1 First'));
      await publish(gateway, 'strict', 'plan_requested', { title: 'Second' });
      await eventually(async () => expect(await listText()).toBe('loaded live 2 Second,First'));
      expect(app.streams).toEqual({ opened: 1, open: 1 });
      expect(await countSubscribers()).toBe(1);
      // A filter that is written inline does not make the list render for ever.
      expect(await call('page.countRenders')).toBeLessThan(40);

      await call('page.unmount');
      await eventually(async () => expect(await countSubscribers()).toBe(0));
      expect(app.streams).toEqual({ opened: 1, open: 0 });
      expect(issues).toEqual([]);
    });

    test('keep the stream when the app is mounted again at once', async () => {
      await openApp('remount');
      await call('page.mount');
      await eventually(async () => expect(await listText()).toContain('live'));
      await call('page.remount');
      await publish(gateway, 'remount', 'plan_requested', { title: 'Later' });
      await eventually(async () => expect(await listText()).toBe('loaded live 1 Later'));
      expect(app.streams).toEqual({ opened: 1, open: 1 });
    });

    test('leave no stream behind when the token expires, the account changes, or the user signs out', async () => {
      tokenSeconds = 2;
      await openApp('carol');
      await call('page.mount');
      await eventually(() => expect(app.streams.opened).toBeGreaterThan(1));
      tokenSeconds = 3600;
      await publish(gateway, 'carol', 'plan_requested', { title: 'For Carol' });
      await eventually(async () => expect(await listText()).toBe('loaded live 1 For Carol'));
      expect(app.streams.open).toBe(1);

      await publish(gateway, 'dave', 'plan_requested', { title: 'For Dave' });
      await call('page.setUser', 'dave');
      await call('page.reload');
      await eventually(async () => expect(await listText()).toBe('loaded live 1 For Dave'));
      await eventually(async () => expect(await countSubscribers()).toBe(1));
      expect(app.streams.open).toBe(1);

      await call('page.signOut');
      await eventually(async () => expect(await listText()).toBe('SIGNED_OUT signedOut -'));
      await eventually(async () => expect(await countSubscribers()).toBe(0));
    });

    test('change to another inbox of the provider', async () => {
      await openApp('erin');
      await call('page.mount');
      await eventually(async () => expect(await listText()).toBe('loaded live 0'));
      await call('page.replaceInbox');
      await publish(gateway, 'erin', 'plan_requested', { title: 'New' });
      await eventually(async () => expect(await listText()).toBe('loaded live 1 New'));
      await eventually(() => expect(app.streams.open).toBe(1));
    });

    test('render as loading on a server, without a request, and hydrate without a difference', async () => {
      await openApp('frank');
      const html = await call('page.hydrate');
      expect(html).toBe('<p id="list">loading<!-- --> <!-- -->idle<!-- --> <!-- -->-<!-- --> </p>');
      await eventually(async () => expect(await listText()).toBe('loaded live 0'));
      expect(issues).toEqual([]);
    });

    test('report how far an answer has come, for each notification', async () => {
      const [own, lost] = [await publish(gateway, 'grace'), await publish(gateway, 'grace')];
      await openApp('grace');
      const text = () => read('#answer');
      const send = (decision: string) => call('answering.answer', { plan: { decision } });
      const select = (id: string) => call('answering.select', id);

      await call('page.mountAnswering', [own.id]);
      await eventually(async () => expect(await text()).toBe('idle OPEN'));
      let release = () => undefined;
      const held = new Promise<undefined>((resolve) => {
        release = () => void resolve(undefined);
      });
      await page.route('**/graphql', async (route) => {
        if (route.request().postData()?.includes('answerNotification')) await held;
        await route.continue();
      });
      await send('APPROVE');
      // The answer shows at once.
      await eventually(async () => expect(await text()).toBe('sending ANSWERED'));
      release();
      await eventually(async () => expect(await text()).toBe('stored ANSWERED'));

      await select(lost.id);
      await eventually(async () => expect(await text()).toBe('idle OPEN'));
      await answer(gateway, 'grace', { id: lost.id, ...answers.reject });
      await eventually(async () => expect(await text()).toBe('idle ANSWERED'));
      await send('APPROVE');
      await eventually(async () => expect(await text()).toBe('alreadySettled REJECT ANSWERED'));

      await select('unknown');
      await eventually(async () => expect(await text()).toBe('idle'));
      await send('APPROVE');
      await eventually(async () => expect(await text()).toBe('failed NOT_FOUND'));
    });
  },
);
