import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { findBarriers } from '../support/axe.ts';
import { hasBrowser, openPage, startBrowser, type WatchedPage } from '../support/browser.ts';
import { graphql } from '../support/client.ts';
import { seed, signTokenFor, startDevelopmentGateway } from '../support/development.ts';
import { readBlocks, readPage } from '../support/documentation.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput } from '../support/process.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const blocks = readBlocks(readPage('docs/build-an-inbox.md'));
const commands = blocks.filter(({ language }) => language === 'bash').map(({ content }) => content);
const mutation = blocks.find(({ language }) => language === 'graphql')?.content ?? '';
const files = blocks.filter(({ info }) => /^[\w./-]+\.\w+$/.test(info));
const [config, main, inboxFile, answerFile, mainOfHooks] = files;

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

test.skipIf(!hasBrowser)(
  'the commands and files of docs/build-an-inbox.md make an inbox that answers and follows changes, from the template of Vite',
  async () => {
    const gateway = await startDevelopmentGateway();
    await seed(gateway, 'alice');
    const parent = await makeFolder();
    const folder = join(parent, 'my-inbox');
    const env = { ...process.env, ...gateway.settings, HOME: parent, NO_COLOR: '1' };
    const runScript = (script: string, cwd: string) =>
      promisify(execFile)('bash', ['-euc', script.replaceAll('~/workspace-account-gateway', repository)], {
        cwd,
        env,
      });
    const write = (file: (typeof files)[number] | undefined) =>
      writeFile(
        join(folder, file?.info ?? ''),
        file?.content.replace('http://127.0.0.1:4000', gateway.address) ?? '',
      );

    // The variable of the first block is used in the second.
    const [setUp = '', token = '', start = ''] = commands;
    await runScript(`${setUp}\n${token}`, parent);
    await write(config);
    await write(main);
    const [check = '', serve = ''] = start.trim().split('\n');
    await runScript(check, folder);

    const [program = '', ...args] = `${serve} --port 0 --host 127.0.0.1`.split(' ');
    const child = spawn(program, args, {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const vite = captureOutput(child, serve);
    const browser = await startBrowser();
    try {
      const address = await vite.waitForOutput(/(http:\/\/127\S+)/);
      await testComponents(await openPage(browser, address));

      await write(inboxFile);
      await write(answerFile);
      await write(mainOfHooks);
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
      await browser.close();
      process.kill(-vite.pid, 'SIGTERM');
      await vite.ended;
      await gateway.close();
      await removeFolder(parent);
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
