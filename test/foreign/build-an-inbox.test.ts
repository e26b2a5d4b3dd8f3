import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeInChromium, type WatchedPage } from '../support/browser.ts';
import { graphql } from '../support/client.ts';
import {
  type DevelopmentGateway,
  seed,
  signTokenFor,
  startDevelopmentGateway,
} from '../support/development.ts';
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

describeInChromium('an app', (open) => {
  /** Where programs run, beside a gateway with records of `alice`. */
  let gateway: DevelopmentGateway;
  let parent: string;
  let env: NodeJS.ProcessEnv;
  const ends: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    gateway = await startDevelopmentGateway();
    await seed(gateway, 'alice');
    parent = await makeFolder();
    const settings = { HOME: parent, NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1' };
    // Next.js does not read .env.local in tests.
    env = {
      ...process.env,
      ...gateway.settings,
      ...settings,
      GATEWAY_URL: gateway.address,
      NODE_ENV: undefined,
    };
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await gateway.close();
    await removeFolder(parent);
  });

  const runScript = (script: string, folder = '') =>
    promisify(execFile)('bash', ['-euc', script.replaceAll('~/workspace-account-gateway', repository)], {
      cwd: join(parent, folder),
      env,
    });
  const write = (folder: string, file: (typeof files)[number] | undefined) =>
    writeFile(
      join(parent, folder, file?.info ?? ''),
      file?.content.replace('http://127.0.0.1:4000', gateway.address) ?? '',
    );

  /** Starts a server, and returns its address. */
  async function serve(folder: string, command: string): Promise<string> {
    const [program = '', ...args] = command.split(' ');
    // In a process group, because npm does not pass signals on.
    const child = spawn(program, args, {
      cwd: resolve(parent, folder),
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
  }

  /** The sockets of Vite and Next.js report changes of files. */
  const expectNoIssues = ({ issues }: WatchedPage) =>
    expect(issues.filter((issue) => !issue.startsWith('socket:'))).toEqual([]);

  /** Answers a reply with the components, and sees it in another tab. */
  async function testComponents(watched: WatchedPage): Promise<void> {
    const { page } = watched;
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
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    await send.click();
    await other.getByRole('article', { name }).getByText('By alice in an app').waitFor();
    expectNoIssues(watched);
    await page.context().close();
  }

  test('that the commands and files of docs/build-an-inbox.md make of the template of Vite answers and follows changes', async () => {
    // The variable of the first block is used in the second.
    const [setUp = '', token = '', start = ''] = commands;
    await runScript(`${setUp}\n${token}`);
    await write('my-inbox', config);
    await write('my-inbox', main);
    const [check = '', command = ''] = start.trim().split('\n');
    await runScript(check, 'my-inbox');
    const address = await serve('my-inbox', `${command} --port 0 --host 127.0.0.1`);
    await testComponents(await open(address));

    for (const file of [inboxFile, answerFile, mainOfHooks]) await write('my-inbox', file);
    await runScript(check, 'my-inbox');
    const watched = await open(address);
    const { page } = watched;
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
    expectNoIssues(watched);
  }, 300_000);

  test('that the template of Next.js makes renders the inbox on its server, and continues it in the browser', async () => {
    const [variable = ''] = commands;
    const [create = '', start = ''] = commands.slice(3);
    await runScript(`${variable.split('\n')[0]}\n${create}`);
    for (const file of filesOfNext) await write('my-next-inbox', file);
    const [build = '', command = ''] = start.trim().split('\n');
    await runScript(build, 'my-next-inbox');
    const address = await serve('my-next-inbox', `${command} --port 0 --hostname 127.0.0.1`);
    expect(await (await fetch(address)).text()).toContain('Approve the plan for the cart');
    await testComponents(await open(address));
  }, 300_000);

  test('that `npm run example:inbox` serves is the inbox of the seeded user, and gives tokens to its own origin', async () => {
    const address = await serve(repository, 'npm run example:inbox -- --host 127.0.0.1');
    await testComponents(await open(address));
    const requestToken = async (headers: Record<string, string>) =>
      (await fetch(new URL('/token', address), { headers })).status;
    expect(await requestToken({})).toBe(200);
    expect(await requestToken({ Origin: 'http://localhost:3000' })).toBe(403);
    expect(await requestToken({ 'Sec-Fetch-Site': 'same-site' })).toBe(403);
  }, 90_000);
});
