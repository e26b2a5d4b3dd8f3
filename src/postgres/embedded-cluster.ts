import { createHash, randomBytes } from 'node:crypto';
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
import {
  type Account,
  accountCan,
  ENTER,
  isRoot,
  readOwner,
  sharedFolder,
  unprivilegedAccount,
} from './embedded-account.ts';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';
import { installedPrograms, programsFor, runProgram, startProgram } from './embedded-programs.ts';

/** A PostgreSQL cluster on disk. Beside `directory`, which is PostgreSQL's own, lies the file with its password. */
export type Cluster = { dataDir: string; directory: string; password: string };

/** The superuser of the cluster, and the gateway's database on it. */
export const USER = 'gateway';
export const DATABASE = 'gateway';

/**
 * The cluster of a data directory, made on first use. It appears as `postgresql` in the data directory at once and
 * whole, so an interrupted first start leaves nothing that the next one would trip over. Where the account that
 * PostgreSQL runs as cannot enter the data directory, `postgresql` is a link to a folder that it can enter.
 *
 * @throws EmbeddedPostgresError when the cluster cannot be read or made.
 */
export async function openCluster(dataDir: string): Promise<Cluster> {
  const absolute = resolve(dataDir);
  const found = await readCluster(absolute);
  if (found) return found;
  try {
    await createCluster(absolute);
  } catch (error) {
    // Another process that started at the same time may have been first.
    const others = await readCluster(absolute);
    if (others) return others;
    const reason = error instanceof Error ? error.message : String(error);
    throw new EmbeddedPostgresError(
      `PostgreSQL's files could not be made in ${absolute}: ${reason}\n` +
        'See that this user may write there, or set DATA_DIR to another folder, or DATABASE_URL.',
      { cause: error },
    );
  }
  const created = await readCluster(absolute);
  if (!created)
    throw new EmbeddedPostgresError(`PostgreSQL's files in ${absolute} were taken away meanwhile.`);
  return created;
}

/** The account to run PostgreSQL as: none unless this process is root, else the owner of the cluster's files. */
export async function accountFor({ directory }: Cluster): Promise<Account | undefined> {
  if (!isRoot()) return undefined;
  const owner = await readOwner(directory);
  if (owner.uid !== 0) return owner;
  // A copy or a backup brought back by root: PostgreSQL wants files of its own.
  const account = await unprivilegedAccount();
  const below = await readdir(directory, { recursive: true });
  await Promise.all(['.', ...below].map((path) => chown(join(directory, path), account.uid, account.gid)));
  return account;
}

/** Removes what interrupted first starts have left. Only for the owner: another start may be under way else. */
export async function removeLeftovers({ dataDir, directory }: Cluster): Promise<void> {
  const parent = dirname(dirname(directory));
  const names = (await readdir(parent)).filter((name) => name.startsWith(unfinishedName(dataDir)));
  const removals = names.map((name) => rm(join(parent, name), { recursive: true, force: true }));
  await Promise.allSettled(removals);
}

async function readCluster(dataDir: string): Promise<Cluster | undefined> {
  const home = join(dataDir, 'postgresql');
  try {
    const directory = await realpath(join(home, 'cluster'));
    const password = await readFile(join(home, 'password'), 'utf8');
    return { dataDir, directory, password };
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' && !(await lstat(home).catch(() => undefined))) return undefined;
    if (code === 'EACCES') {
      throw new EmbeddedPostgresError(
        `PostgreSQL's files in ${home} belong to another user. Run as that user, or set another DATA_DIR.`,
        { cause: error },
      );
    }
    if (code === 'ENOTDIR') {
      throw new EmbeddedPostgresError(`${dataDir} is no folder. Set DATA_DIR to one.`, { cause: error });
    }
    throw new EmbeddedPostgresError(
      `PostgreSQL's files in ${home} are incomplete or gone (${code}). ` +
        `Bring them back from a backup, or remove ${home} to begin with an empty database.`,
      { cause: error },
    );
  }
}

async function createCluster(dataDir: string): Promise<void> {
  const account = isRoot() ? await unprivilegedAccount() : undefined;
  await mkdir(dataDir, { recursive: true });
  const inPlace = !account || (await accountCan(account, ENTER, dataDir));
  const parent = inPlace ? dataDir : await sharedFolder(account);
  const suffix = randomBytes(6).toString('hex');
  const unfinished = join(parent, `${unfinishedName(dataDir)}${suffix}`);
  const home = join(dataDir, 'postgresql');
  try {
    await mkdir(unfinished);
    await chmod(unfinished, account ? 0o711 : 0o700);
    await initialise(unfinished, account);
    if (inPlace) {
      await rename(unfinished, home);
    } else {
      const place = join(parent, `${hashDataDir(dataDir)}-${suffix}`);
      await rename(unfinished, place);
      await symlink(place, home);
    }
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function initialise(home: string, account: Account | undefined): Promise<void> {
  const directory = join(home, 'cluster');
  const password = randomBytes(24).toString('hex');
  const passwordForInitdb = join(home, 'password-for-initdb');
  await writeFile(join(home, 'password'), password, { mode: 0o600, flush: true });
  await writeFile(passwordForInitdb, password, { mode: 0o600 });
  await mkdir(directory, { mode: 0o700 });
  if (account) {
    for (const path of [directory, passwordForInitdb]) await chown(path, account.uid, account.gid);
  }
  const programs = await programsFor(await installedPrograms(), account);
  const settings = ['--encoding=UTF8', '--locale=C', '--auth=scram-sha-256', `--username=${USER}`];
  const passwordOption = `--pwfile=${passwordForInitdb}`;
  await runProgram(
    startProgram(programs, account, ['initdb', `--pgdata=${directory}`, ...settings, passwordOption]),
  );
  await rm(passwordForInitdb);
  const single = startProgram(programs, account, ['postgres', '--single', '-D', directory, 'postgres']);
  await runProgram(single, `create database ${DATABASE}\n`);
}

function unfinishedName(dataDir: string): string {
  return `initialising-${hashDataDir(dataDir)}-`;
}

/** Tells data directories apart in a folder that they share. */
function hashDataDir(dataDir: string): string {
  return createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
}
