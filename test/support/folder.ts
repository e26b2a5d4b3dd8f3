import { existsSync, statfsSync } from 'node:fs';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Linux's in-memory file system: databases and copies of the repository consist of thousands of small files. */
const MEMORY = '/dev/shm';
const NEEDED_BYTES = 4 * 1024 ** 3;
const parent = existsSync(MEMORY) && freeBytes(MEMORY) >= NEEDED_BYTES ? MEMORY : tmpdir();

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
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
