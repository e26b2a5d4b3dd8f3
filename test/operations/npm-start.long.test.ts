import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { copyCluster, makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput, type Process } from '../support/process.ts';

const scripts = ['start', 'dev'];
const repository = fileURLToPath(new URL('../..', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await makeFolder();
  await Promise.all(scripts.map((script) => copyCluster(join(folder, script))));
});
afterAll(async () => {
  for (const { pid } of started) killGroup(pid);
  await removeFolder(folder);
});

const started: Process[] = [];

/** Runs a script as in a terminal, without the variables of the npm that runs the tests. */
function npm(script: string) {
  const { PATH, HOME } = process.env;
  const child = spawn('npm', ['run', script], {
    cwd: repository,
    env: { PATH, HOME, DATA_DIR: join(folder, script), PORT: '0', LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const command = captureOutput(child, `npm run ${script}`);
  started.push(command);
  return command;
}

/** Ends processes that a signal did not reach. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has already exited.
  }
}

/** Exchanges the key in a URL of GraphiQL for a token, as the page does. */
async function readToken(url: string): Promise<string> {
  const key = new URL(url).hash.slice('#key='.length);
  const reply = await fetch(new URL('graphql/token', url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  return (await reply.json()).token;
}

test.each(scripts)(
  'npm run %s prints a URL of GraphiQL whose key gives a token; SIGTERM stops the gateway and PostgreSQL',
  {
    timeout: 120_000,
  },
  async (script) => {
    const command = npm(script);
    const address = await command.waitForOutput(/Listening on (http:\S+)/);
    expect((await fetch(`${address}/readyz`)).status).toBe(200);
    const token = await readToken(await command.waitForOutput(/GraphiQL +(http:\S+)/));
    const { errors } = await graphql({ address }, '{ workspaces { totalCount } }', {}, { token });
    expect(errors).toEqual([]);
    const lockFile = join(folder, script, 'postgresql/cluster/postmaster.pid');
    expect(existsSync(lockFile)).toBe(true);

    await command.stop();
    await eventually(() => expect(fetch(address)).rejects.toThrow());
    await eventually(() => expect(existsSync(lockFile)).toBe(false));
  },
);
