import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { signDevelopmentToken } from '../../src/auth/development-key.ts';
import { readExamples } from '../../src/pages/graphiql-examples.ts';
import { hasBrowser, openPage, startBrowser, type WatchedPage } from '../support/browser.ts';
import { type DevelopmentGateway, seed, startDevelopmentGateway } from '../support/development.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

if (!hasBrowser)
  process.stdout.write('graphiql-browser.test.ts: no chromium on the PATH, its tests are skipped.\n');

const queryEditor = '.graphiql-query-editor';
const headerEditor = '.graphiql-editor-tool .graphiql-editor:not(.hidden)';

/** Pastes a text into an editor, in place of what it holds. */
async function paste(page: Page, editor: string, content: string): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate((text) => navigator.clipboard.writeText(text), content);
  await page.locator(`${editor} .monaco-editor`).click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+v');
}

/** Pastes an operation into the query editor and waits until the page has read it: its tab takes the name. */
async function pasteOperation(page: Page, name: string, operation: string): Promise<void> {
  await paste(page, queryEditor, operation);
  await page.getByRole('tab', { name, selected: true }).waitFor();
}

const run = (page: Page) => page.getByRole('button', { name: 'Execute query' }).click();

/** Waits until the result pane shows a text. */
const shows = (page: Page, hasText: string) => page.locator('.graphiql-response', { hasText }).waitFor();

describe.skipIf(!hasBrowser)(`in Chromium${hasBrowser ? '' : ' (skipped: no chromium on the PATH)'}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  let watched: WatchedPage;
  // No request to another origin, no breach of the policy, no error: in every test.
  afterEach(() => expect(watched.issues).toEqual([]));

  describe('a page that comes without a token', () => {
    let gateway: TestGateway;
    let page: Page;
    beforeAll(async () => {
      gateway = await startTestGateway({ GRAPHIQL: 'true' });
      watched = await openPage(browser, `${gateway.address}/graphql`);
      page = watched.page;
    });
    afterAll(() => gateway.close());

    test('shows the documentation with our descriptions', async () => {
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      const docs = page.locator('.graphiql-doc-explorer');
      await docs.getByRole('link', { name: 'Query', exact: true }).click();
      await docs.getByText("A user's workspaces over all projects, newest first.").waitFor();
      await docs.getByRole('link', { name: 'workspaces', exact: true }).click();
      await docs
        .getByText('The number of records to return from the start of the list, 1 to 100. Defaults to 50.')
        .waitFor();
    });

    test('runs a query with the token that is put into its header editor, and keeps no token', async () => {
      await publish(gateway, 'alice', 'task_failed', { title: 'The build broke' });
      const token = await member('alice');
      await paste(page, headerEditor, JSON.stringify({ Authorization: `Bearer ${token}` }));
      await pasteOperation(
        page,
        'Kept',
        'query Kept { notifications { nodes { ... on UserNotification { title } } } }',
      );
      await run(page);
      await shows(page, '"title": "The build broke"');
      await page.waitForFunction(() => localStorage.getItem('graphiql:tabState')?.includes('query Kept'));
      expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain(token);
    });

    test('shows an error with its code and the place of every fault', async () => {
      await pasteOperation(
        page,
        'Faulty',
        'query Faulty { workspaces(first: 0) { totalCount } notification(id: "") { __typename } }',
      );
      await run(page);
      await shows(page, '"code": "VALIDATION_FAILED"');
      await shows(page, '"location": "first"');
      await shows(page, '"location": "id"');
    });

    test('shows the events of a live subscription while it is open', async () => {
      await pasteOperation(
        page,
        'Live',
        'subscription Live { notificationEvents { notification { ... on UserNotification { title } } } }',
      );
      const started = page.waitForResponse(
        (reply) => reply.headers()['content-type'] === 'text/event-stream',
      );
      await run(page);
      await started;
      for (const title of ['The import broke', 'The export broke']) {
        await publish(gateway, 'alice', 'task_failed', { title });
        await shows(page, `"title": "${title}"`);
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
      watched = await openPage(browser, `${gateway.address}/graphql`);
      page = watched.page;
    });
    afterAll(() => gateway.close());

    test('opens with a query and a token in place', async () => {
      await run(page);
      await shows(page, '"id": "seed-12"');
    });

    test('offers every example, each in a tab of its own, with a token in place', async () => {
      const menu = page.getByRole('combobox', { name: 'Examples' });
      const names = await menu.locator('option:enabled').allInnerTexts();
      expect(names).toEqual(readExamples().map(({ name }) => name));
      await menu.selectOption('dismiss');
      await page.getByRole('tab', { name: 'Dismiss', selected: true }).waitFor();
      await run(page);
      await shows(page, '"status": "DISMISSED"');
      expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Inbox', 'Dismiss']);
    });

    test('keeps its title and menu in view beside many tabs', async () => {
      const menu = page.getByRole('combobox', { name: 'Examples' });
      const before = await menu.boundingBox();
      for (let count = 0; count < 20; count += 1) await page.getByRole('button', { name: 'New tab' }).click();
      await page.getByRole('tab').nth(21).waitFor({ state: 'attached' });
      expect(await menu.boundingBox()).toEqual(before);
    });

    test('wraps the lines of an operation, so that long comments can be read', async () => {
      const comment = `# ${'A comment longer than the editor is wide. '.repeat(5)}`;
      await pasteOperation(page, 'Commented', `${comment}\nquery Commented { __typename }`);
      const lines = page.locator(`${queryEditor} .view-line`);
      expect(await lines.count()).toBeGreaterThan(3);
      expect(await lines.evaluateAll((all) => all.some((line) => line.scrollWidth > line.clientWidth))).toBe(
        false,
      );
    });
  });

  describe('a token that does not work', () => {
    const notice = (page: Page) => page.locator('#notice');

    test('is explained, and a page with tokens of its own has another after it is loaded again', async () => {
      const gateway = await startDevelopmentGateway({ GRAPHIQL: 'true' });
      onTestFinished(gateway.close);
      const { page } = await openPage(browser, `${gateway.address}/graphql`);
      const key = { dataDir: gateway.settings.DATA_DIR ?? '', issuer: null, audience: null };
      const expired = await signDevelopmentToken(key, { sub: 'alice' }, -60);
      await paste(page, headerEditor, JSON.stringify({ Authorization: `Bearer ${expired}` }));
      await run(page);
      await notice(page)
        .getByText(/^The token in the Headers tab expired at .+\. Reload the page to get a new one\.$/)
        .waitFor();

      await page.reload();
      await run(page);
      await shows(page, '"nodes": []');
      expect(await notice(page).isVisible()).toBe(false);
      expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Inbox']);
    });

    test('is explained on a page without tokens: how to get one, and where it goes', async () => {
      const gateway = await startTestGateway({ GRAPHIQL: 'true' });
      onTestFinished(gateway.close);
      const { page } = await openPage(browser, `${gateway.address}/graphql`);
      await run(page);
      const how =
        'Paste a valid token into the Headers tab. In development, this command prints one: npm run -s token -- --sub alice --org acme';
      await notice(page).getByText(`This operation requires a token. ${how}`).waitFor();
      await paste(page, headerEditor, JSON.stringify({ Authorization: 'Bearer none' }));
      await run(page);
      await notice(page).getByText(`The gateway rejected the token in the Headers tab. ${how}`).waitFor();
    });
  });
});
