import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const output = join(repository, 'examples/inbox/dist');

/** Builds the packages and the example app, and returns its files by their paths in URLs. */
export async function buildInboxApp(): Promise<ReadonlyMap<string, Uint8Array>> {
  const run = promisify(execFile);
  await run('npm', ['run', '-s', 'build:clients'], { cwd: repository });
  await run('npm', ['run', '-s', 'build', '-w', 'inbox'], { cwd: repository });
  const entries = await readdir(output, { recursive: true, withFileTypes: true });
  const files = new Map<string, Uint8Array>();
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    files.set(`/${relative(output, path)}`.replace('/index.html', '/'), await readFile(path));
  }
  return files;
}
