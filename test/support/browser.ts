import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Where this machine has Chromium, by the name that Debian's package gives it. */
const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find((path) => existsSync(path));

/** Whether this machine has a Chromium. */
export const hasBrowser = executablePath !== undefined;

/** Starts it without a window, and without its sandbox, which refuses to be root; it reaches this machine alone. */
export function startBrowser(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('There is no chromium on the PATH.');
  return chromium.launch({
    executablePath,
    args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
}

/** A page, and everything that it did which it should not. */
export type WatchedPage = {
  page: Page;
  /** Requests to other origins, errors and warnings: breaches of the content security policy too. */
  issues: readonly string[];
};

/** Opens a page with a storage of its own. */
export async function openPage(browser: Browser, address: string): Promise<WatchedPage> {
  const issues: string[] = [];
  const { origin } = new URL(address);
  const context = await browser.newContext({ viewport: { width: 1400, height: 1400 } });
  // Those of workers too.
  context.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) issues.push(`request: ${request.url()}`);
  });
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) issues.push(`console: ${message.text()}`);
  });
  context.on('weberror', (error) => issues.push(`uncaught: ${error.error().message}`));
  const page = await context.newPage();
  // Less than a test has, so that it can say what it waited for.
  page.setDefaultTimeout(20_000);
  page.on('websocket', (socket) => issues.push(`socket: ${socket.url()}`));
  await page.goto(address);
  return { page, issues };
}
