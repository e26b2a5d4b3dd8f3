import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, cp, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { copyCluster, makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput, type Process, runProcess } from '../support/process.ts';
import { freePort } from '../support/servers.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Several starts run one after another, possibly on a busy machine. */
const TIMEOUT_MS = 120_000;

let folder: string;
let address: string;
let environment: Record<string, string>;
const running: Process[] = [];

beforeAll(async () => {
  folder = await makeFolder();
  for (const part of ['src', 'rest', 'dev', 'package.json']) {
    await cp(join(repository, part), join(folder, part), { recursive: true });
  }
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const port = String(await freePort());
  address = `http://127.0.0.1:${port}`;
  const dataDir = join(folder, 'data');
  await copyCluster(dataDir);
  environment = {
    NODE_COMPILE_CACHE: join(folder, 'cache'),
    PORT: port,
    DATA_DIR: dataDir,
  };
});
afterAll(async () => {
  await Promise.all(running.map((process) => process.stop()));
  await removeFolder(folder);
});

/** Starts the command in the copy, in its own process group, as a terminal does. */
function dev(): Process & { interrupt(): void } {
  const child = spawn(process.execPath, [join(folder, 'src/commands/dev.ts')], {
    env: environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const followed = captureOutput(child, 'npm run dev');
  running.push(followed);
  return { ...followed, interrupt: () => void process.kill(-(child.pid ?? 0), 'SIGINT') };
}

const lockFile = () => join(folder, 'data/postgresql/cluster/postmaster.pid');
const postmaster = async () => (await readFile(lockFile(), 'utf8')).split('\n', 1)[0];
const status = async (path: string) => (await fetch(`${address}${path}`)).status;
const waitUntilReady = () => eventually(async () => expect(await status('/readyz')).toBe(200));
const waitUntilStopped = () => eventually(() => expect(fetch(address)).rejects.toThrow());

test('killing the command also stops the gateway', { timeout: TIMEOUT_MS }, async () => {
  const killed = dev();
  await killed.waitForOutput(/Listening on/);
  await killed.stop('SIGKILL');
  await waitUntilStopped();
});

test('a changed file restarts the gateway on the same database, and Ctrl-C stops both', {
  timeout: TIMEOUT_MS,
}, async () => {
  const command = dev();
  await command.waitForOutput(/Listening on/);
  await waitUntilReady();
  const database = await postmaster();

  await appendFile(join(folder, 'src/main.ts'), "process.stdout.write('The new one\\n');\n");
  await command.waitForOutput(/The new one\n(?:.*\n)*GraphiQL/);
  // Each process has its own key.
  const urls = command.stdout().match(/http:\S+\/graphql#key=[\w-]{43}\n/g);
  expect(new Set(urls).size).toBe(2);
  await waitUntilReady();
  expect(await postmaster()).toBe(database);

  command.interrupt();
  expect(await command.ended).toMatchObject({ status: 0, stderr: '' });
  await waitUntilStopped();
  expect(existsSync(lockFile())).toBe(false);
});

test('refuses to run in production', async () => {
  const ended = await runProcess('src/commands/dev.ts', {
    NODE_ENV: 'production',
    DATABASE_URL: 'postgres://127.0.0.1/gateway',
    AUTH_JWKS_URL: 'https://issuer.example.com/jwks',
    AUTH_ISSUER: 'issuer',
    AUTH_AUDIENCE: 'audience',
    ENCRYPTION_KEYS: `k1:${'A'.repeat(43)}=`,
  });
  expect(ended).toMatchObject({ status: 1, stdout: '' });
  expect(ended.stderr).toBe('npm run dev is for development. Unset NODE_ENV, or run: npm start\n');
});
