import { execFile, spawn, spawnSync } from 'node:child_process';
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { readPage, tableBelow } from '../support/documentation.ts';
import { captureOutput, compileCache, type Process } from '../support/process.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));

/** A release that docs/releases.md records. */
export type Release = { version: string; commit: string };

/** Reads the recorded releases, oldest first. */
export function readReleases(): Release[] {
  return tableBelow(readPage('docs/releases.md'), 'Releases').map(([version = '', , commit = '']) => ({
    version,
    commit,
  }));
}

/** Whether the history of this clone contains a commit. A shallow clone or an archive may not. */
export function hasCommit(commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: repository }).status === 0;
}

/**
 * Writes the files of a release to a folder. Its packages are those of this repository if it needs the same ones;
 * otherwise they are installed, which takes about a minute.
 */
export async function checkOut({ commit }: Release, folder: string): Promise<void> {
  const archive = join(folder, 'release.tar');
  await run('git', ['archive', '--output', archive, commit], { cwd: repository });
  await run('tar', ['-xf', archive, '-C', folder]);
  const [theirs, ours] = await Promise.all([readDependencies(folder), readDependencies(repository)]);
  if (isDeepStrictEqual(theirs, ours)) {
    await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  } else {
    await run('npm', ['ci', '--omit=dev', '--workspaces=false'], { cwd: folder });
  }
}

async function readDependencies(folder: string): Promise<unknown> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')).dependencies;
}

/** Starts a program of a release. Only the given environment variables and `NODE_COMPILE_CACHE` are set. */
export function startReleaseProgram(
  folder: string,
  program: string,
  environment: Record<string, string>,
): Process {
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: { NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return captureOutput(child, program);
}
