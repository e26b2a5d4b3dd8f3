import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterEach, beforeAll } from 'vitest';
import { describeInChromium, type WatchedPage } from '../support/browser.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { type TestGateway, useGateway } from '../support/gateway.ts';
import { signToken } from '../support/tokens.ts';
import { startWebApp, type WebApp } from './web-app.ts';

/** Builds the packages and the example app, and returns its files by their paths in URLs. */
async function buildInboxApp(): Promise<ReadonlyMap<string, Uint8Array>> {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const output = await makeFolder();
  const run = promisify(execFile);
  await run('npm', ['run', '-s', 'build:clients'], { cwd });
  await run('npm', ['run', '-s', 'build', '-w', 'inbox', '--', '--outDir', output, '--emptyOutDir'], { cwd });
  const entries = await readdir(output, { recursive: true, withFileTypes: true });
  const files = new Map<string, Uint8Array>();
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    files.set(`/${relative(output, path)}`.replace('/index.html', '/'), await readFile(path));
  }
  await removeFolder(output);
  return files;
}

/** The example app at a gateway. */
type InboxApp = {
  gateway: TestGateway;
  /** Serves the app for a user. */
  serve(user: string, claims?: object): Promise<WebApp>;
  /** Opens a screen of the app in a browser of its own. */
  open(app: WebApp, screen?: string): Promise<WatchedPage>;
  /** Serves the app for a user, and opens a screen. */
  openFor(user: string, screen?: string): Promise<Page>;
};

/** Describes tests of the example inbox in Chromium. Its pages are closed after each test. */
export function describeInboxApp(name: string, defineTests: (inbox: InboxApp) => void): void {
  describeInChromium(`the example inbox ${name}`, (openPage) => {
    const gateway = useGateway();
    let files: ReadonlyMap<string, Uint8Array>;
    const ends: (() => Promise<void>)[] = [];
    beforeAll(async () => {
      files = await buildInboxApp();
    }, 120_000);
    afterEach(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });

    const serve: InboxApp['serve'] = async (user, claims = { org_id: 'acme' }) => {
      const getToken = () => signToken({ sub: user, exp: Math.floor(Date.now() / 1000) + 3600, ...claims });
      const app = await startWebApp({ files, gateway, getToken });
      ends.push(app.close);
      return app;
    };
    const open: InboxApp['open'] = async ({ origin }, screen = 'inbox') => {
      const watched = await openPage(`${origin}/#/${screen}`);
      ends.push(() => watched.page.context().close());
      await watched.page.emulateMedia({ reducedMotion: 'reduce' });
      return watched;
    };
    const openFor = async (user: string, screen?: string) => (await open(await serve(user), screen)).page;
    defineTests({ gateway, serve, open, openFor });
  });
}

/** The card of a notification. */
export const card = (page: Page, title: string) => page.getByRole('article', { name: title, exact: true });

export const waitForLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor();

/** Refuses an operation once it is `released`. */
export const refuse = (page: Page, operation: string, code: string, released?: Promise<unknown>) =>
  page.route('**/graphql', async (route) => {
    if (!route.request().postData()?.includes(operation)) return route.continue();
    await released;
    return route.fulfill({ json: { errors: [{ message: 'No', extensions: { code } }] } });
  });

/** A payload with questions: of one option, of several, and of one or another text. */
export const asked = [
  { question: 'Which format?', options: [{ label: 'PDF' }, { label: 'XML' }] },
  {
    question: 'Who gets a copy?',
    multiSelect: true,
    options: [{ label: 'Accounting' }, { label: 'The archive' }],
  },
  { question: 'Which color?', options: [{ label: 'Red' }, { label: 'Blue' }] },
];
export const ask = (questions: unknown[]) => ({
  questionRequested: { toolId: 'tool-q', input: { questions } },
});
