import { execFile } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readlink, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inject } from 'vitest';

/** Linux's in-memory file system: databases and copies of the repository consist of thousands of small files. */
const MEMORY = '/dev/shm';
const NEEDED_BYTES = 4 * 1024 ** 3;
const parent = existsSync(MEMORY) && hasSpace(statfsSync(MEMORY)) ? MEMORY : tmpdir();

function hasSpace({ bavail, bsize }: { bavail: number; bsize: number }): boolean {
  return bavail * bsize >= NEEDED_BYTES;
}

/** Creates a temporary folder, by default readable by other accounts, because PostgreSQL does not run as root. */
export async function makeFolder(mode = 0o755): Promise<string> {
  const folder = await realpath(await mkdtemp(join(parent, 'gateway-test-')));
  await chmod(folder, mode);
  return folder;
}

/** Removes a folder and its content. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

/** Copies an initialized cluster into a data directory, which is faster than initializing one. */
export async function copyCluster(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await copyFolder(inject('cluster'), join(dataDir, 'postgresql'));
}

/** Copies a folder; its files keep their owners, as PostgreSQL requires. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Copies the repository, and links the installed packages. Its own packages are those of the copy. */
export async function copyRepository(folder: string): Promise<void> {
  const isOurs = (path: string) => !/\/(node_modules|dist|\.git|\.data)$/.test(path);
  await cp(repository, folder, { recursive: true, filter: isOurs });
  const own = '@workspace-account';
  for (const packages of ['node_modules', `node_modules/${own}`, 'examples/rest-client/node_modules']) {
    const [from, to] = [join(repository, packages), join(folder, packages)];
    await mkdir(to);
    const entries = await readdir(from, { withFileTypes: true });
    for (const entry of entries.filter(({ name }) => name !== own)) {
      const installed = join(from, entry.name);
      await symlink(entry.isSymbolicLink() ? await readlink(installed) : installed, join(to, entry.name));
    }
  }
}
