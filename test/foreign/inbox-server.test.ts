import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { decodeJwt } from 'jose';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput } from '../support/process.ts';

/* The settings of the development server of the example inbox. */

const inbox = fileURLToPath(new URL('../../examples/inbox', import.meta.url));
const vite = fileURLToPath(new URL('../../node_modules/vite/bin/vite.js', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => removeFolder(folder));

function run(options: readonly string[], settings: Record<string, string>) {
  const child = spawn(process.execPath, [vite, ...options], {
    cwd: inbox,
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const started = captureOutput(child, 'vite');
  onTestFinished(() => void started.stop());
  return started;
}

/** Starts the server as `npm run start -w inbox` does. */
const start = (settings: Record<string, string>) => run(['--host', '127.0.0.1', '--port', '0'], settings);

test.each([
  ['GATEWAY_URL', 'foo', 'must be a URL that starts with http:// or https://'],
  ['INBOX_TOKEN_SECONDS', 'abc', 'must be a whole number from 1 to 86400'],
  ['INBOX_USER', '\u0007', 'must be 1 to 255 characters without control characters'],
])(
  'refuses to start with %s=%j, with the rule as its only line, and creates no key',
  async (name, value, rule) => {
    const DATA_DIR = join(folder, 'data');
    const { status, stderr } = await start({ DATA_DIR, [name]: value }).ended;
    expect({ status, stderr }).toEqual({ status: 1, stderr: `${name}: ${rule}\n` });
    expect(existsSync(DATA_DIR)).toBe(false);
  },
);

test('refuses to start with a DATA_DIR that is not a directory', async () => {
  const DATA_DIR = join(folder, 'file');
  await writeFile(DATA_DIR, '');
  const { status, stderr } = await start({ DATA_DIR }).ended;
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `${DATA_DIR} is not a directory. Set DATA_DIR to a directory.\n`,
  });
});

test('warns of a new key, and signs tokens with the settings, of which empty ones are unset', async () => {
  const DATA_DIR = join(folder, 'data');
  const settings = { DATA_DIR, GATEWAY_URL: '', INBOX_ORGANIZATION: '', INBOX_TOKEN_SECONDS: '60' };
  const server = start({ ...settings, INBOX_USER: 'bob' });
  const address = await server.waitForOutput(/(http:\/\/127\S+)/);
  const path = join(DATA_DIR, 'signing-key.json');
  expect(server.stderr()).toContain(
    `Generated a new signing key: ${path}. A gateway with another DATA_DIR rejects its tokens.\n`,
  );

  const { iat = 0, exp = 0, ...claims } = decodeJwt(await (await fetch(new URL('/token', address))).text());

  expect([claims, exp - iat]).toEqual([{ sub: 'bob' }, 60]);
});

test('a build of the app needs no settings, and creates no key', async () => {
  const DATA_DIR = join(folder, 'data');
  const output = ['--outDir', join(folder, 'app')];
  expect(await run(['build', ...output], { DATA_DIR, INBOX_TOKEN_SECONDS: 'abc' }).ended).toMatchObject({
    status: 0,
  });
  expect(existsSync(DATA_DIR)).toBe(false);
});
