import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';

/** The path of Chromium, named as in Debian's package. */
const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find((path) => existsSync(path));

const hasBrowser = executablePath !== undefined;

/** Starts a headless Chromium that can reach this machine only. Its sandbox is off because it cannot run as root. */
export function startBrowser(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('chromium was not found on the PATH.');
  return chromium.launch({
    executablePath,
    args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
}

/** A page and the problems it caused. */
export type WatchedPage = {
  page: Page;
  /** Requests to other origins, errors and warnings, including violations of the content security policy. */
  issues: readonly string[];
};

/** Opens a page with its own storage. */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const issues: string[] = [];
  const { origin } = new URL(address);
  const context = await browser.newContext({ viewport: { width: 1400, height: 1400 }, ...options });
  // Includes requests of workers.
  context.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) issues.push(`request: ${request.url()}`);
  });
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) issues.push(`console: ${message.text()}`);
  });
  context.on('weberror', (error) => issues.push(`uncaught: ${error.error().message}`));
  const page = await context.newPage();
  // Shorter than the test's timeout, so that the failure names what was waited for.
  page.setDefaultTimeout(20_000);
  page.on('websocket', (socket) => issues.push(`socket: ${socket.url()}`));
  await page.goto(address);
  return { page, issues };
}

/** Describes tests that open pages in a Chromium of their own. Skips them, and says so, if it is not installed. */
export function describeInChromium(
  name: string,
  defineTests: (open: (address: string, options?: BrowserContextOptions) => Promise<WatchedPage>) => void,
): void {
  const reason = hasBrowser ? '' : ' (skipped: chromium was not found on the PATH)';
  describe.skipIf(!hasBrowser)(`${name} in Chromium${reason}`, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(() => browser.close());
    defineTests((address, options) => openPage(browser, address, options));
  });
}
