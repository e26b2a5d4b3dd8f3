import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hasBrowser, openPage, startBrowser } from '../support/browser.ts';
import { graphql } from '../support/client.ts';
import { seed, signTokenFor, startDevelopmentGateway } from '../support/development.ts';
import { readBlocks, readPage } from '../support/documentation.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput } from '../support/process.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const blocks = readBlocks(readPage('docs/build-an-inbox.md'));
const commands = blocks.filter(({ language }) => language === 'bash').map(({ content }) => content);
const mutation = blocks.find(({ language }) => language === 'graphql')?.content ?? '';
const files = blocks.filter(({ info }) => /^[\w.-]+\.\w+$/.test(info));

test.skipIf(!hasBrowser)(
  'the commands and files of docs/build-an-inbox.md make an inbox that answers and follows changes',
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

    // The variable of the first block is used in the second.
    const [setUp = '', token = '', start = ''] = commands;
    await runScript(`${setUp}\n${token}`, parent);
    for (const { info, content } of files)
      await writeFile(join(folder, info), content.replace('http://127.0.0.1:4000', gateway.address));
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
      const { page, issues } = await openPage(browser, await vite.waitForOutput(/(http:\/\/127\S+)/));
      const other = await page.context().newPage();
      await other.goto(page.url());
      await page.getByRole('heading', { name: 'Inbox (4)' }).waitFor();
      const name = 'Approve the plan for the cart';
      await other.getByRole('article', { name }).waitFor();

      await page.getByRole('article', { name }).getByRole('button', { name: 'Approve' }).click();
      await other.getByRole('heading', { name: 'Inbox (3)' }).waitFor();
      expect(await other.getByRole('article', { name }).count()).toBe(0);

      const question = page.getByRole('article', { name: 'How should amounts be rounded?' });
      await question.getByLabel('Answer').fill('Half to even');
      await question.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('heading', { name: 'Inbox (2)' }).waitFor();

      const publisher = await signTokenFor(gateway, '--sub tasks --scope platform:notifications');
      expect((await graphql(gateway, mutation, {}, { token: publisher })).errors).toEqual([]);
      await other.getByRole('article', { name: 'Approve the plan for the search' }).waitFor();
      await other.getByRole('article').first().getByRole('button', { name: 'Dismiss' }).click();
      await page.getByRole('heading', { name: 'Inbox (2)' }).waitFor();
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
