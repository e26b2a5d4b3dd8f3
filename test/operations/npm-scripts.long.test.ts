import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, cp, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { graphql } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { copyCluster, makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput, type Process, runProcess } from '../support/process.ts';

// Several starts run one after another, possibly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const repository = fileURLToPath(new URL('../..', import.meta.url));

let folder: string;
/** A copy of the gateway's files, which a test changes. */
let copy: string;
const started: Process[] = [];
beforeAll(async () => {
  folder = await makeFolder();
  copy = join(folder, 'copy');
  for (const part of ['src', 'rest', 'dev', 'package.json'])
    await cp(join(repository, part), join(copy, part), { recursive: true });
  await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'));
});
afterAll(async () => {
  for (const { pid } of started) signalGroup(pid, 'SIGKILL');
  await removeFolder(folder);
});

/** Runs a command in its own process group, as a terminal does, without the variables of the npm that runs the tests. */
async function run(name: string, cwd: string, program: string, ...args: string[]) {
  const dataDir = join(folder, name);
  await copyCluster(dataDir);
  const { PATH, HOME } = process.env;
  const child = spawn(program, args, {
    cwd,
    env: { PATH, HOME, DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const command = captureOutput(child, name);
  started.push(command);
  const address = await command.waitForOutput(/Listening on (http:\S+)/);
  return { ...command, address, lockFile: join(dataDir, 'postgresql/cluster/postmaster.pid') };
}

const dev = (name: string) => run(name, copy, process.execPath, 'src/commands/dev.ts');

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The whole group has already exited.
  }
}

type Running = { address: string };
const isReady = async ({ address }: Running) => expect((await fetch(`${address}/readyz`)).status).toBe(200);
const waitUntilStopped = ({ address }: Running) => eventually(() => expect(fetch(address)).rejects.toThrow());

/** Exchanges the key in a URL of GraphiQL for a token, as the page does. */
async function readToken(url: string): Promise<string> {
  const key = new URL(url).hash.slice('#key='.length);
  const headers = { 'Content-Type': 'application/json' };
  const reply = await fetch(new URL('graphql/token', url), {
    method: 'POST',
    headers,
    body: JSON.stringify({ key }),
  });
  return (await reply.json()).token;
}

test.each(['start', 'dev'])(
  'npm run %s prints a URL of GraphiQL whose key gives a token; SIGTERM stops the gateway and PostgreSQL',
  async (script) => {
    const command = await run(script, repository, 'npm', 'run', script);
    await isReady(command);
    const token = await readToken(await command.waitForOutput(/GraphiQL +(http:\S+)/));
    const { errors } = await graphql(command, '{ workspaces { totalCount } }', {}, { token });
    expect(errors).toEqual([]);
    expect(existsSync(command.lockFile)).toBe(true);

    await command.stop();
    await waitUntilStopped(command);
    await eventually(() => expect(existsSync(command.lockFile)).toBe(false));
  },
);

test.each(['start', 'dev'])(
  'Ctrl-C stops npm run %s and PostgreSQL, although npm forwards the signal',
  async (script) => {
    const command = await run(`interrupted-${script}`, repository, 'npm', 'run', script);
    await command.waitForOutput(/GraphiQL/);

    signalGroup(command.pid, 'SIGINT');

    expect((await command.ended).stderr).not.toContain('Exiting immediately');
    await waitUntilStopped(command);
    expect(existsSync(command.lockFile)).toBe(false);
  },
);

test('killing npm run dev also stops the gateway', async () => {
  const command = await dev('killed');
  await command.stop('SIGKILL');
  await waitUntilStopped(command);
});

test('a changed file restarts the gateway on the same database, and Ctrl-C stops both', async () => {
  const command = await dev('changed');
  const postmaster = async () => (await readFile(command.lockFile, 'utf8')).split('\n', 1)[0];
  const database = await postmaster();

  await appendFile(join(copy, 'src/main.ts'), "process.stdout.write('The new one\\n');\n");
  const address = await command.waitForOutput(/The new one\n(?:.*\n)*Listening on (http:\S+)/);
  await command.waitForOutput(/The new one\n(?:.*\n)*GraphiQL/);
  // Each process has its own key.
  const urls = command.stdout().match(/http:\S+\/graphql#key=[\w-]{43}\n/g);
  expect(new Set(urls).size).toBe(2);
  await eventually(() => isReady({ address }));
  expect(await postmaster()).toBe(database);

  signalGroup(command.pid, 'SIGINT');
  expect(await command.ended).toMatchObject({ status: 0, stderr: '' });
  await waitUntilStopped({ address });
  expect(existsSync(command.lockFile)).toBe(false);
});

test('npm run dev refuses to run in production', async () => {
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
