import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { signDevelopmentToken } from '../../src/config/development-keys.ts';
import { readExamples } from '../../src/pages/graphiql-examples.ts';
import { describeInChromium, type WatchedPage } from '../support/browser.ts';
import { type DevelopmentGateway, findUrl, seed, startDevelopmentGateway } from '../support/development.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const queryEditor = '.graphiql-query-editor';
const headerEditor = '.graphiql-editor-tool .graphiql-editor:not(.hidden)';

/** Replaces the content of an editor by pasting a text. */
async function paste(page: Page, editor: string, content: string): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate((text) => navigator.clipboard.writeText(text), content);
  await page.locator(`${editor} .monaco-editor`).click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+v');
}

/** Pastes an operation into the query editor and waits until its name appears in the tab. */
async function pasteOperation(page: Page, operation: string): Promise<void> {
  await paste(page, queryEditor, operation);
  const [, name = ''] = operation.split(' ');
  await page.getByRole('tab', { name, selected: true }).waitFor();
}

const run = (page: Page) => page.getByRole('button', { name: 'Execute query' }).click();

/** Waits until the result pane contains a text. */
const expectResult = (page: Page, hasText: string) =>
  page.locator('.graphiql-response', { hasText }).waitFor();

describeInChromium('GraphiQL', (open) => {
  let watched: WatchedPage;
  /** Console errors that the tests provoke. */
  let provoked: readonly string[] = [];
  beforeEach(() => {
    provoked = [];
  });
  // In every test: no requests to other origins, no violations of the content security policy, no other errors.
  afterEach(() => expect(watched.issues.filter((issue) => !provoked.includes(issue))).toEqual([]));

  describe('a page without a token', () => {
    let gateway: TestGateway;
    let page: Page;
    beforeAll(async () => {
      gateway = await startTestGateway({ GRAPHIQL: 'true' });
      watched = await open(`${gateway.address}/graphql`);
      page = watched.page;
    });
    afterAll(() => gateway.close());

    test('runs a query with the token from the header editor, and never stores the token', async () => {
      await publish(gateway, 'alice', 'task_failed', { title: 'The build broke' });
      const token = await member('alice');
      await paste(page, headerEditor, JSON.stringify({ Authorization: `Bearer ${token}` }));
      await pasteOperation(
        page,
        'query Titles { notifications { nodes { ... on UserNotification { title } } } }',
      );
      await run(page);
      await expectResult(page, '"title": "The build broke"');
      await page.waitForFunction(() => localStorage.getItem('graphiql:tabState')?.includes('query Titles'));
      expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain(token);
    });

    test('shows events while a live subscription is open', async () => {
      await pasteOperation(
        page,
        'subscription Live { notificationEvents { notification { ... on UserNotification { title } } } }',
      );
      const started = page.waitForResponse(
        (reply) => reply.headers()['content-type'] === 'text/event-stream',
      );
      await run(page);
      await started;
      for (const title of ['The import broke', 'The export broke']) {
        await publish(gateway, 'alice', 'task_failed', { title });
        await expectResult(page, `"title": "${title}"`);
      }
      await page.getByRole('button', { name: 'Stop query' }).click();
    });
  });

  describe('a page in development', () => {
    let gateway: DevelopmentGateway;
    let page: Page;
    beforeAll(async () => {
      gateway = await startDevelopmentGateway({ GRAPHIQL: 'true' });
      await seed(gateway, 'alice');
      watched = await open(findUrl(gateway, 'GraphiQL'));
      page = watched.page;
    });
    afterAll(() => gateway.close());

    test('opens with a query and a valid token', async () => {
      await run(page);
      await expectResult(page, '"id": "seed-12"');
    });

    test('removes the key from its URL, keeps it for this browser tab only, and stores no token', async () => {
      const key = new URL(findUrl(gateway, 'GraphiQL')).hash.slice('#key='.length);
      expect(page.url()).toBe(`${gateway.address}/graphql`);
      const [local, session] = await page.evaluate(() => [
        JSON.stringify(localStorage),
        JSON.stringify(sessionStorage),
      ]);
      expect(local).not.toContain(key);
      expect(JSON.parse(session ?? '')).toEqual({ 'gateway:key': key });
      for (const stored of [local, session]) expect(stored).not.toContain('eyJ');
    });

    test('lists every example, and opens one in a new tab with a valid token', async () => {
      // As in a browser's first visit, where GraphiQL has not stored its first tab yet.
      await page.evaluate(() => localStorage.clear());
      await page.reload();
      const menu = page.getByRole('combobox', { name: 'Examples' });
      await menu.waitFor();
      const titles = await menu.locator('option:enabled').allInnerTexts();
      expect(titles).toEqual(readExamples().map(({ title }) => title));
      await menu.selectOption('Dismiss a notification');
      await page.getByRole('tab', { name: 'Dismiss', selected: true }).waitFor();
      await run(page);
      await expectResult(page, '"status": "DISMISSED"');
      expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Inbox', 'Dismiss']);
    });

    test('keeps its title and menu visible with many tabs', async () => {
      const menu = page.getByRole('combobox', { name: 'Examples' });
      const title = page.locator('.graphiql-logo', { has: menu });
      const readBoxes = async () => [await title.boundingBox(), await menu.boundingBox()];
      const before = await readBoxes();
      for (let count = 0; count < 20; count += 1) await page.getByRole('button', { name: 'New tab' }).click();
      await page.getByRole('tab').nth(21).waitFor({ state: 'attached' });
      expect(await readBoxes()).toEqual(before);
      // Also in a narrow window.
      await page.setViewportSize({ width: 400, height: 800 });
      const box = await menu.boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(400);
    });
  });

  test('a token that has expired is replaced by reloading the page, in the same tab', async () => {
    provoked = ['console: Failed to load resource: the server responded with a status of 401 (Unauthorized)'];
    const gateway = await startDevelopmentGateway({ GRAPHIQL: 'true' });
    onTestFinished(gateway.close);
    watched = await open(findUrl(gateway, 'GraphiQL'));
    const { page } = watched;
    const key = { dataDir: gateway.settings.DATA_DIR ?? '', issuer: null, audience: null };
    const expired = await signDevelopmentToken(key, { sub: 'alice' }, -60);
    await paste(page, headerEditor, JSON.stringify({ Authorization: `Bearer ${expired}` }));
    await run(page);
    await expectResult(page, '"code": "UNAUTHENTICATED"');

    await page.reload();
    await run(page);
    await expectResult(page, '"nodes": []');
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Inbox']);
  });

  test('without a valid key, the header editor says how to get a token', async () => {
    provoked = ['console: Failed to load resource: the server responded with a status of 404 (Not Found)'];
    const gateway = await startDevelopmentGateway({ GRAPHIQL: 'true' });
    onTestFinished(gateway.close);
    watched = await open(`${gateway.address}/graphql`);
    const { page } = watched;
    const how = page.locator(headerEditor).getByText('To get a token, open the URL of GraphiQL');
    await how.waitFor();

    // The same page with a fragment: the browser does not load it again by itself.
    const wrong = page.waitForResponse((reply) => reply.status() === 404);
    await page.goto(`${gateway.address}/graphql#key=${'x'.repeat(43)}`);
    await wrong;
    await how.waitFor();
    await page.goto(findUrl(gateway, 'GraphiQL'));
    await page.locator(headerEditor).getByText('Bearer ey').waitFor();
    await run(page);
    await expectResult(page, '"nodes": []');
    expect(page.url()).toBe(`${gateway.address}/graphql`);

    // A new browser tab does not have the key.
    const other = await page.context().newPage();
    await other.goto(`${gateway.address}/graphql`);
    await other.locator(headerEditor).getByText('To get a token').waitFor();
  });
});
