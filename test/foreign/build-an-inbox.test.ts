import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hasBrowser, openPage, startBrowser, type WatchedPage } from '../support/browser.ts';
import { graphql } from '../support/client.ts';
import { seed, signTokenFor, startDevelopmentGateway } from '../support/development.ts';
import { readBlocks, readPage } from '../support/documentation.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput } from '../support/process.ts';
import { findBarriers } from './axe.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const blocks = readBlocks(readPage('docs/build-an-inbox.md'));
const commands = blocks.filter(({ language }) => language === 'bash').map(({ content }) => content);
const mutation = blocks.find(({ language }) => language === 'graphql')?.content ?? '';
const files = blocks.filter(({ info }) => /^[\w./-]+\.\w+$/.test(info));
const [config, main, inboxFile, answerFile, mainOfHooks, ...filesOfNext] = files;

/** Counts lines with text. */
const countLines = (...contents: (string | undefined)[]) =>
  contents
    .join('\n')
    .split('\n')
    .filter((line) => line.trim() !== '').length;

test("an inbox with components is at most 10 lines of one's own, and one with hooks at most 120", () => {
  expect(countLines(config?.content, main?.content)).toBeLessThanOrEqual(10);
  const withHooks = [config, inboxFile, answerFile, mainOfHooks].map((file) => file?.content);
  expect(countLines(...withHooks)).toBeLessThanOrEqual(120);
});

type File = (typeof files)[number] | undefined;

/** An app that the documented commands and files make, at a gateway with records of `alice`. */
async function startApp() {
  const gateway = await startDevelopmentGateway();
  await seed(gateway, 'alice');
  const parent = await makeFolder();
  const settings = { HOME: parent, NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1' };
  // Next.js does not read .env.local in tests.
  const env = { ...process.env, ...gateway.settings, ...settings, NODE_ENV: undefined };
  const runScript = (script: string, cwd = parent) =>
    promisify(execFile)('bash', ['-euc', script.replaceAll('~/workspace-account-gateway', repository)], {
      cwd,
      env,
    });
  const browser = await startBrowser();
  const ends: (() => Promise<unknown>)[] = [() => browser.close()];
  return {
    gateway,
    browser,
    runScript,
    folder: (name: string) => join(parent, name),
    write: (folder: string, file: File) =>
      writeFile(
        join(parent, folder, file?.info ?? ''),
        file?.content.replace('http://127.0.0.1:4000', gateway.address) ?? '',
      ),
    /** Starts a server, and returns its address. */
    async serve(folder: string, command: string): Promise<string> {
      const [program = '', ...args] = command.split(' ');
      const child = spawn(program, args, {
        cwd: join(parent, folder),
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      const server = captureOutput(child, command);
      ends.push(() => {
        process.kill(-server.pid, 'SIGTERM');
        return server.ended;
      });
      return server.waitForOutput(/(http:\/\/127\S+)/);
    },
    async close() {
      for (const end of ends) await end();
      await gateway.close();
      await removeFolder(parent);
    },
  };
}

test.skipIf(!hasBrowser)(
  'the commands and files of docs/build-an-inbox.md make an inbox that answers and follows changes, from the template of Vite',
  async () => {
    const app = await startApp();
    const { gateway, browser, runScript, write } = app;
    const folder = app.folder('my-inbox');
    try {
      // The variable of the first block is used in the second.
      const [setUp = '', token = '', start = ''] = commands;
      await runScript(`${setUp}\n${token}`);
      await write('my-inbox', config);
      await write('my-inbox', main);
      const [check = '', serve = ''] = start.trim().split('\n');
      await runScript(check, folder);
      const address = await app.serve('my-inbox', `${serve} --port 0 --host 127.0.0.1`);
      await testComponents(await openPage(browser, address));

      for (const file of [inboxFile, answerFile, mainOfHooks]) await write('my-inbox', file);
      await runScript(check, folder);
      const { page, issues } = await openPage(browser, address);
      const other = await page.context().newPage();
      await other.goto(page.url());
      await page.getByRole('heading', { name: 'Inbox (3)' }).waitFor();
      const name = 'Approve the plan for the cart';
      await other.getByRole('article', { name }).waitFor();

      await page.getByRole('article', { name }).getByRole('button', { name: 'Approve' }).click();
      await other.getByRole('heading', { name: 'Inbox (2)' }).waitFor();
      expect(await other.getByRole('article', { name }).count()).toBe(0);

      const question = page.getByRole('article', { name: 'How should amounts be rounded?' });
      await question.getByLabel('Answer').fill('Half to even');
      await question.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('heading', { name: 'Inbox (1)' }).waitFor();

      const publisher = await signTokenFor(gateway, '--sub tasks --scope platform:notifications');
      expect((await graphql(gateway, mutation, {}, { token: publisher })).errors).toEqual([]);
      await other.getByRole('article', { name: 'Approve the plan for the search' }).waitFor();
      await other.getByRole('article').first().getByRole('button', { name: 'Dismiss' }).click();
      await page.getByRole('heading', { name: 'Inbox (1)' }).waitFor();
      // Vite's own socket reports changes of files.
      expect(issues.filter((issue) => !issue.startsWith('socket:'))).toEqual([]);
    } finally {
      await app.close();
    }
  },
  300_000,
);

test.skipIf(!hasBrowser)(
  'a server of Next.js renders the inbox, which the browser continues, from the template of Next.js',
  async () => {
    const app = await startApp();
    try {
      const [variable = ''] = commands;
      const [create = '', start = ''] = commands.slice(3);
      await app.runScript(`${variable.split('\n')[0]}\n${create}`);
      for (const file of filesOfNext) await app.write('my-next-inbox', file);
      const [build = '', serve = ''] = start.trim().split('\n');
      await app.runScript(build, app.folder('my-next-inbox'));
      const address = await app.serve('my-next-inbox', `${serve} --port 0 --hostname 127.0.0.1`);
      expect(await (await fetch(address)).text()).toContain('Approve the plan for the cart');
      await testComponents(await openPage(app.browser, address));
    } finally {
      await app.close();
    }
  },
  300_000,
);

/** Answers a reply with the components, and sees it in another tab. */
async function testComponents({ page, issues }: WatchedPage): Promise<void> {
  const name = 'The ledger migration is ready';
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByText('Live', { exact: true }).waitFor();
  await other.getByRole('article', { name }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole('article', { name }).getByLabel('Reply').fill('Yes');
  const send = page.getByRole('article', { name }).getByRole('button', { name: 'Send' });
  // The page scrolls to it; then it takes no answer for 600 ms.
  await send.scrollIntoViewIfNeeded();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await send.click();
  await other.getByRole('article', { name }).getByText('By alice in an app').waitFor();
  expect(issues.filter((issue) => !issue.startsWith('socket:'))).toEqual([]);
  await page.context().close();
}
