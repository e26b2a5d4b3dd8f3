import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { build } from 'rolldown';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeInChromium } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { type Kind, payloads, publish } from '../support/records.ts';
import { answer, answers } from '../support/requests.ts';
import { platform, signToken } from '../support/tokens.ts';
import { findBarriers } from './axe.ts';
import { startWebApp, type WebApp } from './web-app.ts';

const clients = (path: string) => fileURLToPath(new URL(`../../clients/${path}`, import.meta.url));

type Mode = 'development' | 'production';

/** Bundles the page as a development server does, or as an application is shipped. */
async function bundlePage(mode: Mode): Promise<string> {
  const { output } = await build({
    input: clients('react/test/page.tsx'),
    resolve: { alias: { '@workspace-account/client': clients('typescript/src/index.ts') } },
    transform: { define: { 'process.env.NODE_ENV': JSON.stringify(mode) } },
    logLevel: 'silent',
    write: false,
    output: { codeSplitting: false },
  });
  return output[0].code;
}

describeInChromium('hooks', (openPage) => {
  let gateway: TestGateway;
  let app: WebApp;
  let page: Page;
  let issues: readonly string[];
  let tokenSeconds = 3600;

  beforeAll(async () => {
    gateway = await startTestGateway();
    const html = (mode: Mode) =>
      `<!doctype html><html lang="en"><title>Page</title><link rel="icon" href="data:," /><link rel="stylesheet" href="/styles.css" /><script type="module" src="/${mode}.js"></script>`;
    app = await startWebApp({
      files: new Map([
        ['/', html('development')],
        ['/development.js', await bundlePage('development')],
        ['/production', html('production')],
        ['/production.js', await bundlePage('production')],
        ['/styles.css', await readFile(clients('react/styles.css'), 'utf8')],
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
    await app.close();
    await gateway.close();
  });

  /** Opens the page, and counts streams from now on. */
  async function openApp(user: string, path = '/'): Promise<void> {
    app.streams.opened = 0;
    ({ page, issues } = await openPage(`${app.origin}${path}`));
    await call('page.setUser', user);
  }

  /** Calls a function of the page. */
  const call = (path: string, ...args: unknown[]) => callOn(page, path, ...args);
  const callOn = (called: Page, path: string, ...args: unknown[]): Promise<unknown> =>
    called.evaluate(
      ([names, values]) => {
        const found = names.reduce((value: unknown, name) => Reflect.get(Object(value), name), window);
        return typeof found === 'function' ? found(...values) : undefined;
      },
      [path.split('.'), args] as const,
    );

  /** Waits until an element of the page has a text. */
  const expectText = (selector: string, text: string | RegExp, reason = '') =>
    eventually(async () => {
      const shown = await page.locator(selector).textContent();
      expect(shown?.replaceAll(/\s+/g, ' ').trim(), reason).toEqual(
        typeof text === 'string' ? text : expect.stringMatching(text),
      );
    });
  const expectList = (text: string | RegExp) => expectText('#list', text);
  const expectAnswer = (text: string | RegExp, reason?: string) => expectText('#answer', text, reason);
  const readyButton = () => page.locator('button[aria-disabled=false]');
  const expectSubscribers = (count: number) =>
    eventually(async () => expect((await scrape(gateway)).sum('gateway_live_subscribers')).toBe(count));
  /** Replies to an operation by an error, until `unroute`. */
  const refuse = (operation: string) =>
    page.route('**/graphql', (route) =>
      route.request().postData()?.includes(operation)
        ? route.fulfill({ json: { errors: [{ message: 'No', extensions: { code: 'FORBIDDEN' } }] } })
        : route.continue(),
    );

  test('open one stream in strict mode, render what changes, and close it on unmount', async () => {
    await openApp('strict');
    await publish(gateway, 'strict', 'plan_requested', { title: 'First' });
    await call('page.mount');
    await expectList('loaded live 1 First');
    await publish(gateway, 'strict', 'plan_requested', { title: 'Second' });
    await expectList('loaded live 2 Second,First');
    expect(app.streams).toEqual({ opened: 1, open: 1 });
    await expectSubscribers(1);
    // A filter that is written inline does not make the list render for ever.
    expect(await call('page.countRenders')).toBeLessThan(40);

    await call('page.unmount');
    await expectSubscribers(0);
    expect(app.streams).toEqual({ opened: 1, open: 0 });
    expect(issues).toEqual([]);
  });

  test('keep the stream when the app is mounted again at once', async () => {
    await openApp('remount');
    await call('page.mount');
    await expectList(/live/);
    await call('page.remount');
    await publish(gateway, 'remount', 'plan_requested', { title: 'Later' });
    await expectList('loaded live 1 Later');
    expect(app.streams).toEqual({ opened: 1, open: 1 });
  });

  test('leave no stream behind when the token expires, the account changes, or the user signs out', async () => {
    tokenSeconds = 2;
    await openApp('carol');
    await call('page.mount');
    await eventually(() => expect(app.streams.opened).toBeGreaterThan(1));
    tokenSeconds = 3600;
    await publish(gateway, 'carol', 'plan_requested', { title: 'For Carol' });
    await expectList('loaded live 1 For Carol');
    expect(app.streams.open).toBe(1);

    await publish(gateway, 'dave', 'plan_requested', { title: 'For Dave' });
    await call('page.setUser', 'dave');
    await call('page.reload');
    await expectList('loaded live 1 For Dave');
    await expectSubscribers(1);
    expect(app.streams.open).toBe(1);

    await call('page.signOut');
    await expectList('SIGNED_OUT signedOut -');
    await expectSubscribers(0);
  });

  test('change to another inbox of the provider', async () => {
    await openApp('erin');
    await call('page.mount');
    await expectList('loaded live 0');
    await call('page.replaceInbox');
    await publish(gateway, 'erin', 'plan_requested', { title: 'New' });
    await expectList('loaded live 1 New');
    await eventually(() => expect(app.streams.open).toBe(1));
  });

  test.each([
    ['hydrate', 'loading<!-- --> <!-- -->idle<!-- --> <!-- -->-<!-- --> '],
    ['hydrateLoaded', 'loaded<!-- --> <!-- -->idle<!-- --> <!-- -->1<!-- --> <!-- -->Known'],
  ])('render on a server, without a request, and hydrate without a difference: %s', async (name, html) => {
    await publish(gateway, name, 'plan_requested', { title: 'Known' });
    await openApp(name);
    expect(await call(`page.${name}`)).toBe(`<p id="list">${html}</p>`);
    await expectList('loaded live 1 Known');
    expect(issues).toEqual([]);
  });

  test('suspend until there is data, and pass a failure to a boundary that tries again', async () => {
    await publish(gateway, 'suspense', 'plan_requested', { title: 'First' });
    await openApp('suspense');
    await refuse('query Notifications');
    await call('page.mountSuspended');
    await page.getByText('Suspended').waitFor();
    await page.getByText('Failed: FORBIDDEN').waitFor();
    await page.unroute('**/graphql');
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('1: First').waitFor();
    await publish(gateway, 'suspense', 'plan_requested', { title: 'Second' });
    await page.getByText('2: Second, First').waitFor();
  });

  test('report a change that is refused, without an unhandled rejection', async () => {
    await publish(gateway, 'change', 'task_failed', { title: 'First' });
    await openApp('change');
    await call('page.mountChanging');
    await refuse('mutation Dismiss(');
    await page.getByRole('button', { name: 'Dismiss First' }).click();
    await page.getByText('failed FORBIDDEN').waitFor();
    await page.unroute('**/graphql');
    await page.getByRole('button', { name: 'Dismiss First' }).click();
    await page.getByText('stored').waitFor();
    expect(issues).toEqual([]);
  });

  test('components open an inbox by a bell, take slots, and name users', async () => {
    const { id } = await publish(gateway, 'slots', 'plan_requested', { title: 'Plan' });
    await publish(gateway, 'slots', 'task_failed', {
      title: 'Failure',
      task: { id: 'task-9', projectId: 'p' },
    });
    await openApp('slots');
    await call('page.mountComponents', { hasSlots: true });
    const failure = page.locator('main').getByRole('article', { name: 'Failure' });
    await failure.getByText('Of task task-9').waitFor();
    await failure.getByText('It broke').waitFor();
    await failure.getByRole('link', { name: 'Task' }).waitFor();
    await answer(gateway, 'slots', { id, ...answers.approve });
    await page.getByText('By SLOTS in an app').waitFor();
    await page.getByRole('status').getByText('Answered by SLOTS: Plan').first().waitFor();

    await page.getByRole('button', { name: 'Inbox: 1 notification' }).click();
    const opened = page.locator('header').getByRole('region', { name: 'Inbox' });
    await opened.getByRole('button', { name: 'Dismiss: Failure' }).click();
    await page.getByRole('button', { name: 'Inbox: 0 notifications' }).waitFor();
    await opened.getByText('All caught up').waitFor();
    await page.keyboard.press('Escape');
    await opened.waitFor({ state: 'detached' });
    for (const name of [/^All/, /^Active/]) await page.locator('main').getByRole('button', { name }).click();
    await page.locator('main').getByText('Empty active').waitFor();
    expect(issues).toEqual([]);
  });

  test('several inboxes of a page announce once, and play a sound in one tab', async () => {
    await openApp('sound');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await callOn(other, 'page.setUser', 'sound');
    for (const tab of [page, other]) {
      await tab.evaluate(() =>
        Object.assign(window, {
          sounds: [],
          Audio: function Audio(url: string) {
            return { play: async () => Reflect.get(window, 'sounds').push(url) };
          },
        }),
      );
      await callOn(tab, 'page.mountComponents', { sound: '/ding.mp3' });
      await tab.getByRole('button', { name: 'Inbox: 0 notifications' }).click();
      await tab.locator('header').getByText('Live', { exact: true }).waitFor();
    }
    await publish(gateway, 'sound', 'task_failed', { title: 'Failure' });
    for (const tab of [page, other]) await tab.getByText('New: Failure').waitFor();
    await eventually(async () => {
      const sounds = await Promise.all(
        [page, other].map((tab) => tab.evaluate(() => Reflect.get(window, 'sounds'))),
      );
      expect(sounds.flat()).toEqual(['/ding.mp3']);
    });
  });

  test.each([
    ['en', 'Live', ['Active', 'Waiting', 'All']],
    ['de', 'Verbunden', ['Aktiv', 'Wartet', 'Alle']],
  ] as const)(
    'components have no barriers in any size, theme and direction: %s',
    async (locale, live, views) => {
      const user = `languages-${locale}`;
      for (const kind of Object.keys(payloads) as Kind[]) await publish(gateway, user, kind, { title: kind });
      await openApp(user);
      for (const dir of ['ltr', 'rtl'] as const) {
        await call('page.mountComponents', { locale, dir });
        await page.getByText(live, { exact: true }).first().waitFor();
        await page.locator('main .wa-card').nth(3).waitFor();
        await page.locator('main .wa-select').first().check();
        for (const width of [320, 400, 768, 1280]) {
          await page.setViewportSize({ width, height: 900 });
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
            expect(await findBarriers(page), `${dir} ${width} ${colorScheme}`).toEqual([]);
          }
          const needed = await page.evaluate(() => document.documentElement.scrollWidth);
          expect(needed, `${dir} at ${width}`).toBeLessThanOrEqual(width);
          for (const name of views) {
            const box = await page.locator('.wa-views button', { hasText: name }).first().boundingBox();
            expect(box?.x, name).toBeGreaterThanOrEqual(0);
            expect((box?.x ?? 0) + (box?.width ?? width), name).toBeLessThanOrEqual(width);
          }
        }
        await call('page.unmount');
      }
      expect(issues).toEqual([]);
    },
    120_000,
  );

  /** Scrolls for 300 frames, during which 20 notifications arrive a second, and returns the median time of a frame in ms. */
  async function scrollWhileSomeArrive(): Promise<number> {
    const arrive: () => Promise<void> = Reflect.get(window, 'arrive');
    const arriving: Promise<void>[] = [];
    const times: number[] = [];
    let last = performance.now();
    for (let frame = 0; frame < 300; frame += 1) {
      if (frame % 3 === 0) arriving.push(arrive());
      scrollBy(0, 30);
      const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve));
      times.push(now - last);
      last = now;
    }
    await Promise.all(arriving);
    return times.sort((one, other) => one - other)[150] ?? Number.NaN;
  }

  test('components show 5,000 notifications with few elements and little memory at 50 frames a second, and keep what is read in its place', async () => {
    for (let first = 0; first < 5000; first += 50) {
      const notifications = Array.from({ length: 50 }, (_, index) => ({
        userId: 'long',
        task: { id: `task-${first + index}`, projectId: 'project' },
        title: `Number ${first + index}`,
        payload: payloads.task_failed,
      }));
      await gateway.as(platform).publishAll({ notifications });
    }
    await openApp('long', '/production');
    await call('page.mountComponents', { pageSize: 100 });
    const cards = page.locator('main .wa-card');
    await cards.first().waitFor();
    expect(await call('page.loadAll')).toBe(5000);
    await eventually(async () => expect(await cards.count()).toBeLessThan(40));
    // What arrives is shown if the top of the list is.
    await publish(gateway, 'long', 'task_failed', { title: 'Arrived at the top' });
    const newest = page.getByRole('article', { name: 'Arrived at the top', exact: true });
    await newest.waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(0);
    await page.mouse.move(300, 500);
    await page.mouse.wheel(0, 30_000);
    const title = await eventually(async () => {
      const texts = await cards.locator('.wa-card-title').allTextContents();
      expect(Number(texts[0]?.split(' ')[1])).toBeLessThan(4950);
      return texts[3] ?? '';
    });
    const read = page.locator('main').getByRole('article', { name: title, exact: true });
    const top = async () => (await read.boundingBox())?.y ?? 0;
    const before = await top();
    for (let number = 0; number < 40; number += 1)
      await publish(gateway, 'long', 'task_failed', { title: `Arrived ${number}` });
    await eventually(async () =>
      expect(await page.getByRole('button', { name: 'Inbox: 5,041 notifications' }).count()).toBe(1),
    );
    await eventually(async () => expect(Math.abs((await top()) - before)).toBeLessThan(5));
    expect(await cards.count()).toBeLessThan(40);
    await page.exposeFunction('arrive', () => publish(gateway, 'long', 'task_failed', { title: 'More' }));
    expect(await page.evaluate(scrollWhileSomeArrive)).toBeLessThan(20);
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    expect(usedSize / 2 ** 20).toBeLessThan(150);
    expect(issues).toEqual([]);
  }, 120_000);

  test('report how far an answer has come, for each notification', async () => {
    const [own, lost] = [await publish(gateway, 'grace'), await publish(gateway, 'grace')];
    await openApp('grace');
    const send = async (decision: string) => {
      await readyButton().waitFor();
      await call('answering.answer', { plan: { decision } });
    };
    const select = (id: string) => call('answering.select', id);

    await call('page.mountAnswering', [own.id]);
    await expectAnswer('idle OPEN');
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('answerNotification')) await held;
      await route.continue();
    });
    await send('APPROVE');
    // The answer shows at once.
    await expectAnswer('sending ANSWERED');
    release();
    await expectAnswer('stored ANSWERED');

    await select(lost.id);
    await expectAnswer('idle OPEN');
    await answer(gateway, 'grace', { id: lost.id, ...answers.reject });
    await expectAnswer('idle ANSWERED');
    await send('APPROVE');
    await expectAnswer('alreadySettled REJECT ANSWERED');

    await select('unknown');
    await expectAnswer('idle');
    await send('APPROVE');
    await expectAnswer('failed NOT_FOUND');
  });

  const approve = () => page.getByRole('button');

  /** Ways to press the button that approves, which return at once. */
  const presses: Readonly<Record<string, () => Promise<void>>> = {
    'a pointer': async () => {
      const { x = 0, y = 0 } = (await approve().boundingBox()) ?? {};
      await page.mouse.click(x + 5, y + 5);
    },
    'a key': () => page.keyboard.press('Enter'),
    'assistive technology': () =>
      approve().evaluate((button) => void (button instanceof HTMLElement && button.click())),
  };

  /** What happens to a button just before it is pressed. */
  const disturbances: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    'it appeared': async (id) => {
      await call('page.unmount');
      await call('page.mountAnswering', [id]);
      await approve().focus();
    },
    'it replaced another in the same element': (id) => call('answering.select', id),
    'content above pushed it': () => call('answering.setAbove', 50),
    'the page was scrolled': () => page.evaluate(() => scrollBy(0, scrollY > 0 ? -10 : 10)),
    'it was invisible': () =>
      page.evaluate(async () => {
        document.body.style.opacity = '0';
        await new Promise(requestAnimationFrame);
        document.body.style.opacity = '1';
      }),
    'the tab was in the background': () =>
      page.evaluate(() => {
        const show = (value: string) => {
          Object.defineProperty(document, 'visibilityState', { value, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        };
        show('hidden');
        show('visible');
      }),
  };

  test.each(Object.keys(presses))(
    'ignore an answer by %s to what was not still for 600 ms',
    async (name) => {
      const press = () => presses[name]?.();
      await openApp('early');
      await call('page.mountAnswering', ['none']);
      for (const [reason, disturb] of Object.entries(disturbances)) {
        const [before, next] = [await publish(gateway, 'early'), await publish(gateway, 'early')];
        await call('answering.select', before.id);
        await expectAnswer('idle OPEN');
        await approve().focus();
        await readyButton().waitFor();
        await disturb(next.id);
        await press();
        await expectAnswer(/^ignored/, reason);
        await readyButton().waitFor();
        await press();
        await expectAnswer('stored ANSWERED', reason);
      }
      expect(issues).toEqual([]);
    },
    90_000,
  );

  test('ignore an answer to what is outside of the window, and show it', async () => {
    const { id } = await publish(gateway, 'outside');
    await openApp('outside');
    await call('page.mountAnswering', [id]);
    await readyButton().waitFor();
    await page.evaluate(() => scrollTo(0, 3000));
    await page.locator('button[aria-disabled=true]').waitFor();
    await page.evaluate(async () => {
      const start = performance.now();
      while (performance.now() < start + 700) await new Promise(requestAnimationFrame);
    });
    await presses['assistive technology']?.();
    await expectAnswer('ignored OPEN');
    await readyButton().waitFor();
    await presses['assistive technology']?.();
    await expectAnswer('stored ANSWERED');
  });
});
