import { hash, randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { OperatorError, readSystemErrorCode } from '../../src/errors/failure.ts';
import {
  type Account,
  ENTER,
  findUnprivilegedAccount,
  hasPermissions,
  isRoot,
  openSharedFolder,
  readOwner,
} from './account.ts';
import { findInstalledPrograms, preparePrograms, runProgram, startProgram } from './programs.ts';

/** A PostgreSQL cluster on disk. `directory` is PostgreSQL's data directory. */
export type Cluster = { dataDir: string; directory: string; password: string };

/** The superuser and the database of the cluster. */
export const USER = 'gateway';
export const DATABASE = 'gateway';

/**
 * Opens the cluster `postgresql` in a data directory, and creates it on first use. Creation is atomic, so an
 * interrupted first start does not affect the next one. If PostgreSQL's account cannot enter the data directory,
 * `postgresql` is a symbolic link to a directory in the shared folder.
 * @throws {OperatorError} if the cluster cannot be read or created
 */
export async function openCluster(dataDir: string): Promise<Cluster> {
  const absolute = resolve(dataDir);
  const found = await readCluster(absolute);
  if (found) return found;
  try {
    await createCluster(absolute);
  } catch (error) {
    // Another process may have created it at the same time.
    const existing = await readCluster(absolute);
    if (existing) return existing;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `PostgreSQL's files could not be created in ${absolute}: ${reason}\n` +
        'Grant this user write access to it, set DATA_DIR to another directory, or set DATABASE_URL.',
      { cause: error },
    );
  }
  const created = await readCluster(absolute);
  if (!created)
    throw new OperatorError(`PostgreSQL's files in ${absolute} were deleted. Start the gateway again.`);
  return created;
}

/**
 * Returns the account to run PostgreSQL as; `undefined` unless this process is root. It is the owner of the cluster's
 * files. If that is root, they are given to an unprivileged account first.
 */
export async function prepareAccount({ directory }: Cluster): Promise<Account | undefined> {
  if (!isRoot()) return undefined;
  const owner = await readOwner(directory);
  if (owner.uid !== 0) return owner;
  // Root has copied or restored the files. PostgreSQL must own its files.
  const account = await findUnprivilegedAccount();
  const paths = await readdir(directory, { recursive: true });
  await Promise.all(['.', ...paths].map((path) => chown(join(directory, path), account.uid, account.gid)));
  return account;
}

/**
 * Removes the files of interrupted first starts. Requires ownership of the server, so that no other start is running.
 */
export async function removeLeftovers({ dataDir, directory }: Cluster): Promise<void> {
  const parent = dirname(dirname(directory));
  const names = (await readdir(parent)).filter((name) => name.startsWith(formatDraftPrefix(dataDir)));
  const removals = names.map((name) => rm(join(parent, name), { recursive: true, force: true }));
  await Promise.allSettled(removals);
}

/**
 * Reads the cluster in an absolute data directory; returns undefined if there is none.
 * @throws {OperatorError} if it cannot be read
 */
export async function readCluster(dataDir: string): Promise<Cluster | undefined> {
  const home = join(dataDir, 'postgresql');
  try {
    const directory = await realpath(join(home, 'cluster'));
    const password = await readFile(join(home, 'password'), 'utf8');
    return { dataDir, directory, password };
  } catch (error) {
    const code = readSystemErrorCode(error);
    if (code === 'ENOENT' && !(await lstat(home).catch(() => undefined))) return undefined;
    if (code === 'EACCES') {
      throw new OperatorError(
        `PostgreSQL's files in ${home} belong to another user. Run the gateway as that user, or set DATA_DIR to another directory.`,
        { cause: error },
      );
    }
    if (code === 'ENOTDIR') {
      throw new OperatorError(`${dataDir} is not a directory. Set DATA_DIR to a directory.`, {
        cause: error,
      });
    }
    throw new OperatorError(
      `PostgreSQL's files in ${home} are incomplete or missing (${code}). ` +
        `Restore them from a backup, or delete ${home} to start with an empty database.`,
      { cause: error },
    );
  }
}

async function createCluster(dataDir: string): Promise<void> {
  const account = isRoot() ? await findUnprivilegedAccount() : undefined;
  await mkdir(dataDir, { recursive: true });
  const inPlace = !account || (await hasPermissions(account, ENTER, dataDir));
  const parent = inPlace ? dataDir : await openSharedFolder(account);
  const suffix = randomBytes(6).toString('hex');
  const draft = join(parent, `${formatDraftPrefix(dataDir)}${suffix}`);
  const home = join(dataDir, 'postgresql');
  try {
    await mkdir(draft);
    await chmod(draft, account ? 0o711 : 0o700);
    await initialize(draft, account);
    if (inPlace) {
      await rename(draft, home);
    } else {
      const target = join(parent, `${hashDataDir(dataDir)}-${suffix}`);
      await rename(draft, target);
      await symlink(target, home);
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function initialize(home: string, account: Account | undefined): Promise<void> {
  const directory = join(home, 'cluster');
  const password = randomBytes(24).toString('hex');
  const passwordForInitdb = join(home, 'password-for-initdb');
  await writeFile(join(home, 'password'), password, { mode: 0o600, flush: true });
  await writeFile(passwordForInitdb, password, { mode: 0o600 });
  await mkdir(directory, { mode: 0o700 });
  if (account) {
    for (const path of [directory, passwordForInitdb]) await chown(path, account.uid, account.gid);
  }
  const programs = await preparePrograms(await findInstalledPrograms(), account);
  const settings = ['--encoding=UTF8', '--locale=C', '--auth=scram-sha-256', `--username=${USER}`];
  const passwordOption = `--pwfile=${passwordForInitdb}`;
  await runProgram(
    startProgram(programs, account, ['initdb', `--pgdata=${directory}`, ...settings, passwordOption]),
  );
  await rm(passwordForInitdb);
  const single = startProgram(programs, account, ['postgres', '--single', '-D', directory, 'postgres']);
  await runProgram(single, `create database ${DATABASE}\n`);
}

function formatDraftPrefix(dataDir: string): string {
  return `initializing-${hashDataDir(dataDir)}-`;
}

/** Identifies a data directory in the shared directory. */
function hashDataDir(dataDir: string): string {
  return hash('sha256', dataDir, 'hex').slice(0, 16);
}
