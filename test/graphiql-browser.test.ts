import type { Browser, Page, Response } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readExamples } from '../src/graphql/graphiql-examples.ts';
import { hasBrowser, openPage, startBrowser, type WatchedPage } from './support/browser.ts';
import { type DevelopmentGateway, seed, startDevelopmentGateway } from './support/development.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asMember, publish } from './support/records.ts';
import { member } from './support/tokens.ts';

if (!hasBrowser)
  process.stdout.write('graphiql-browser.test.ts: no chromium on the PATH, its tests are skipped.\n');

/** Waits until the result pane shows a text. */
const shows = (page: Page, hasText: string | RegExp) =>
  page.locator('.graphiql-response', { hasText }).waitFor();

const run = (page: Page) => page.getByRole('button', { name: 'Execute query' }).click();

/** Pastes a token into the header editor, in place of what it holds. */
async function giveToken(page: Page, token: string): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const headers = JSON.stringify({ Authorization: `Bearer ${token}` });
  await page.evaluate((text) => navigator.clipboard.writeText(text), headers);
  await page.locator('.graphiql-editor-tool .graphiql-editor:not(.hidden) .view-lines').click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+v');
}

describe.skipIf(!hasBrowser)(`in Chromium${hasBrowser ? '' : ' (skipped: no chromium on the PATH)'}`, () => {
  let browser: Browser;
  let gateway: TestGateway;
  let development: DevelopmentGateway;
  let opened: WatchedPage[] = [];
  beforeAll(async () => {
    [browser, gateway, development] = await Promise.all([
      startBrowser(),
      startTestGateway({ GRAPHIQL: 'true' }),
      startDevelopmentGateway({ GRAPHIQL: 'true' }),
    ]);
    await seed(development, 'alice');
  });
  afterAll(async () => {
    await browser.close();
    await development.close();
    await gateway.close();
  });

  async function open(to: TestGateway, search = ''): Promise<Page> {
    const watched = await openPage(browser, `${to.address}/graphql${search}`);
    opened.push(watched);
    return watched.page;
  }
  afterEach(async () => {
    const faults = opened.flatMap((watched) => watched.faults);
    await Promise.all(opened.map(({ page }) => page.context().close()));
    opened = [];
    expect(faults).toEqual([]);
  });

  test('the documentation shows our descriptions, without a token', async () => {
    const page = await open(gateway);
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    const docs = page.locator('.graphiql-doc-explorer');
    await docs.getByRole('link', { name: 'Query', exact: true }).click();
    await docs.getByText("A user's workspaces over all projects, newest first.").waitFor();
    await docs.getByRole('link', { name: 'workspaces', exact: true }).click();
    await docs.getByText('How many from the start, 1 to 100; 50 unless told.').waitFor();
  });

  test('a query runs with the token that is put into the header editor, and the token is not kept', async () => {
    const token = await member('alice');
    await publish(gateway, 'alice', 'task_failed', { title: 'The build broke' });
    const query = '{ notifications { nodes { ... on UserNotification { title } } } }';
    const page = await open(gateway, `?query=${encodeURIComponent(query)}`);
    await giveToken(page, token);
    await run(page);
    await shows(page, '"title": "The build broke"');
    await page.waitForFunction(() => localStorage.getItem('graphiql:tabState') !== null);
    expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain(token);
  });

  test('an error is shown with its code and the place of every fault', async () => {
    const page = await open(
      development,
      `?query=${encodeURIComponent('{ workspaces(first: 0) { totalCount } }')}`,
    );
    await run(page);
    await shows(page, '"code": "VALIDATION_FAILED"');
    await shows(page, '"location": "first"');
  });

  test('a live subscription shows an event that happens while it is open', async () => {
    const page = await open(gateway, '?example=live-inbox');
    await giveToken(page, await member('bob'));
    const isStream = (reply: Response) => reply.headers()['content-type']?.startsWith('text/event-stream');
    const started = page.waitForResponse((reply) => isStream(reply) === true);
    await run(page);
    await started;
    await publish(gateway, 'bob', 'task_failed', { title: 'The import broke' });
    await shows(page, '"title": "The import broke"');
    await publish(gateway, 'bob', 'task_failed', { title: 'The export broke' });
    await shows(page, '"title": "The export broke"');
    await page.getByRole('button', { name: 'Stop query' }).click();
  });

  test('in development it opens ready to run, and its menu opens every example in a tab, ready to run', async () => {
    const page = await open(development);
    await run(page);
    await shows(page, '"id": "seed-12"');

    const menu = page.getByRole('combobox', { name: 'Examples' });
    const names = await menu.locator('option:enabled').allInnerTexts();
    expect(names).toEqual(readExamples().map(({ name }) => name));
    await menu.selectOption('dismiss');
    await page.getByRole('tab', { name: 'Dismiss', selected: true }).waitFor();
    await run(page);
    await shows(page, '"status": "DISMISSED"');
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Inbox', 'Dismiss']);
  });
});
