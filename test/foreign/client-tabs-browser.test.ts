import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { hasBrowser, startBrowser } from '../support/browser.ts';
import { bundleClient } from '../support/client-bundle.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { getPort } from '../support/proxy.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const PAGE = `<!doctype html><title>Tab</title><script type="module">
  import { createInbox } from '/client.js';
  globalThis.openInbox = (url, token) => {
    globalThis.inbox = createInbox({ url, getToken: () => token });
    globalThis.list = inbox.notifications();
    list.subscribe(() => undefined);
  };
  globalThis.isReady = true;
</script>`;

/** The functions of the page. */
declare global {
  var isReady: boolean | undefined;
  function openInbox(url: string, token: string): void;
  var inbox: { connection: { get(): { state: string } }; signOut(): void };
  var list: { get(): { data?: { notifications: { id: string }[] } } };
}

describe.skipIf(!hasBrowser)('in Chromium, over HTTP/1.1', () => {
  let code: string;
  const server = createServer((request, response) => {
    const isScript = request.url === '/client.js';
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? code : PAGE);
  });
  let origin: string;
  let gateway: TestGateway;
  let browser: Browser;
  let context: BrowserContext;
  /** The pages that opened streams, in order. */
  let streams: Page[];

  beforeAll(async () => {
    code = await bundleClient();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${getPort(server)}`;
    gateway = await startTestGateway({ CORS_ORIGINS: origin });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
    server.close();
    await gateway.close();
  });

  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
    streams = [];
    context.on('request', (request) => {
      if (request.postData()?.includes('subscription')) streams.push(request.frame().page());
    });
  });

  /** Opens a tab that shows the inbox of a user, and waits until it is live. */
  async function openTab(user: string): Promise<Page> {
    const page = await context.newPage();
    await page.goto(origin);
    await page.waitForFunction(() => globalThis.isReady);
    const [url, token] = [`${gateway.address}/graphql`, await member(user)];
    await page.evaluate(([url = '', token = '']) => globalThis.openInbox(url, token), [url, token]);
    await page.waitForFunction(() => globalThis.list.get().data !== undefined);
    await page.waitForFunction(() => globalThis.inbox.connection.get().state === 'live');
    return page;
  }

  /** Waits until a tab shows these notifications. */
  async function expectShown(page: Page, ids: readonly string[], timeout = 20_000): Promise<void> {
    await vi.waitFor(
      async () =>
        expect(
          await page.evaluate(() => globalThis.list.get().data?.notifications.map(({ id }) => id)),
        ).toEqual(ids),
      { timeout, interval: 50 },
    );
  }

  test('ten tabs share one stream, and another one resumes it when the leader is closed', async () => {
    const pages: Page[] = [];
    for (let i = 0; i < 10; i += 1) pages.push(await openTab('ten'));
    expect(streams).toEqual(pages.slice(0, 1));
    const first = await publish(gateway, 'ten');
    for (const page of pages) await expectShown(page, [first.id]);

    await pages[0]?.close();
    const second = await publish(gateway, 'ten');
    for (const page of pages.slice(1)) await expectShown(page, [second.id, first.id]);
    expect(streams).toHaveLength(2);
  });

  test('a tab takes over from a frozen one, which follows when it wakes', { timeout: 60_000 }, async () => {
    const [leader, follower] = [await openTab('frozen'), await openTab('frozen')];
    expect(streams).toEqual([leader]);
    const session = await context.newCDPSession(leader);
    // Stops all scripts of the tab, from the next one on.
    await session.send('Debugger.enable');
    const stopped = new Promise((resolve) => session.once('Debugger.paused', resolve));
    await session.send('Debugger.pause');
    await stopped;
    const first = await publish(gateway, 'frozen');
    await expectShown(follower, [first.id], 30_000);
    expect(streams).toEqual([leader, follower]);
    const second = await publish(gateway, 'frozen');
    await expectShown(follower, [second.id, first.id]);
    await session.send('Debugger.resume');
    await expectShown(leader, [second.id, first.id]);
    const third = await publish(gateway, 'frozen');
    for (const page of [leader, follower]) await expectShown(page, [third.id, second.id, first.id]);
    expect(streams).toEqual([leader, follower]);
  });

  test('two accounts share nothing, and one stays when the other signs out', async () => {
    const [leaving, staying, other] = [await openTab('one'), await openTab('one'), await openTab('two')];
    expect(streams).toEqual([leaving, other]);
    await leaving.evaluate(() => globalThis.inbox.signOut());
    const [ofOne, ofTwo] = [await publish(gateway, 'one'), await publish(gateway, 'two')];
    await expectShown(staying, [ofOne.id]);
    await expectShown(other, [ofTwo.id]);
    expect(await leaving.evaluate(() => globalThis.list.get().data)).toBeUndefined();
    expect(streams).toEqual([leaving, other, staying]);
  });
});
