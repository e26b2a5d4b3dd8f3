import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readExamples } from '../../src/pages/graphiql-examples.ts';
import { hasBrowser, openPage, startBrowser, type WatchedPage } from '../support/browser.ts';
import { type DevelopmentGateway, seed, startDevelopmentGateway } from '../support/development.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

if (!hasBrowser)
  process.stdout.write('graphiql-browser.test.ts: chromium was not found on the PATH, skipping.\n');

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
async function pasteOperation(page: Page, name: string, operation: string): Promise<void> {
  await paste(page, queryEditor, operation);
  await page.getByRole('tab', { name, selected: true }).waitFor();
}

const run = (page: Page) => page.getByRole('button', { name: 'Execute query' }).click();

/** Waits until the result pane contains a text. */
const expectResult = (page: Page, hasText: string) =>
  page.locator('.graphiql-response', { hasText }).waitFor();

describe.skipIf(!hasBrowser)(
  `GraphiQL in Chromium${hasBrowser ? '' : ' (skipped: chromium was not found on the PATH)'}`,
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(() => browser.close());

    let watched: WatchedPage;
    // In every test: no requests to other origins, no violations of the content security policy, no errors.
    afterEach(() => expect(watched.issues).toEqual([]));

    describe('a page without a token', () => {
      let gateway: TestGateway;
      let page: Page;
      beforeAll(async () => {
        gateway = await startTestGateway({ GRAPHIQL: 'true' });
        watched = await openPage(browser, `${gateway.address}/graphql`);
        page = watched.page;
      });
      afterAll(() => gateway.close());

      test("shows the documentation with the schema's descriptions", async () => {
        await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
        const docs = page.locator('.graphiql-doc-explorer');
        await docs.getByRole('link', { name: 'Query', exact: true }).click();
        await docs.getByText("A user's workspaces over all projects, newest first.").waitFor();
        await docs.getByRole('link', { name: 'workspaces', exact: true }).click();
        await docs.getByText('How many from the start, 1 to 100; 50 unless told.').waitFor();
      });

      test('runs a query with the token from the header editor, and never stores the token', async () => {
        await publish(gateway, 'alice', 'task_failed', { title: 'The build broke' });
        const token = await member('alice');
        await paste(page, headerEditor, JSON.stringify({ Authorization: `Bearer ${token}` }));
        await pasteOperation(
          page,
          'Kept',
          'query Titles { notifications { nodes { ... on UserNotification { title } } } }',
        );
        await run(page);
        await expectResult(page, '"title": "The build broke"');
        await page.waitForFunction(() => localStorage.getItem('graphiql:tabState')?.includes('query Titles'));
        expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain(
          token,
        );
      });

      test('shows an error with its code and the location of every error item', async () => {
        await pasteOperation(
          page,
          'Faulty',
          'query Faulty { workspaces(first: 0) { totalCount } notification(id: "") { __typename } }',
        );
        await run(page);
        await expectResult(page, '"code": "VALIDATION_FAILED"');
        await expectResult(page, '"location": "first"');
        await expectResult(page, '"location": "id"');
      });

      test('shows events while a live subscription is open', async () => {
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
        watched = await openPage(browser, `${gateway.address}/graphql`);
        page = watched.page;
      });
      afterAll(() => gateway.close());

      test('opens with a query and a valid token', async () => {
        await run(page);
        await expectResult(page, '"id": "seed-12"');
      });

      test('opens every example in a new tab with a valid token', async () => {
        const menu = page.getByRole('combobox', { name: 'Examples' });
        const names = await menu.locator('option:enabled').allInnerTexts();
        expect(names).toEqual(readExamples().map(({ name }) => name));
        await menu.selectOption('dismiss');
        await page.getByRole('tab', { name: 'Dismiss', selected: true }).waitFor();
        await run(page);
        await expectResult(page, '"status": "DISMISSED"');
        expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Inbox', 'Dismiss']);
      });
    });
  },
);
