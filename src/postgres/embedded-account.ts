import { chmod, lstat, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';

/** The account PostgreSQL runs as when this process is root. */
export type Account = { name: string; uid: number; gid: number };

/** Permission bits of one class of users. */
export const ENTER = 0o1;
export const READ_AND_ENTER = 0o5;

const SHARED_FOLDER = 'workspace-account-gateway';

/** Whether this process is root, as whom PostgreSQL refuses to run. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * An account of this machine without privileges: `postgres`, else `nobody`.
 *
 * @throws EmbeddedPostgresError when there is neither.
 */
export async function unprivilegedAccount(): Promise<Account> {
  const accounts = await readAccounts();
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((candidate) => candidate.name === name && candidate.uid > 0);
    if (account) return account;
  }
  throw new EmbeddedPostgresError(
    'PostgreSQL refuses to run as root, and this machine has neither an account "postgres" nor "nobody". ' +
      'Start the gateway as another user, or set DATABASE_URL.',
  );
}

/** The account that owns a file. */
export async function readOwner(path: string): Promise<Account> {
  const { uid, gid } = await stat(path);
  const known = (await readAccounts()).find((account) => account.uid === uid);
  return { name: known?.name ?? `with the id ${uid}`, uid, gid };
}

/** Whether the account may enter every folder above the path, and has the given bits on the path itself. */
export async function accountCan(account: Account, bits: number, path: string): Promise<boolean> {
  let current = await realpath(path);
  let needed = bits;
  for (;;) {
    const { uid, gid, mode } = await stat(current);
    const granted = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode;
    if ((granted & needed) !== needed) return false;
    if (dirname(current) === current) return true;
    current = dirname(current);
    needed = ENTER;
  }
}

/**
 * A folder of root's that the account can enter, for what it cannot reach where it was installed.
 *
 * @throws EmbeddedPostgresError when none can be had.
 */
export async function sharedFolder(account: Account): Promise<string> {
  for (const parent of ['/var/lib', tmpdir()]) {
    const folder = join(parent, SHARED_FOLDER);
    if ((await makeFolder(folder)) && (await accountCan(account, READ_AND_ENTER, folder))) return folder;
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL refuses to run as root, and the account ${account.name} can reach neither the gateway's files ` +
      `nor a folder "${SHARED_FOLDER}" in /var/lib or ${tmpdir()}. ` +
      'Start the gateway as another user, or set DATABASE_URL.',
  );
}

async function makeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    await chmod(folder, 0o755);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') return false;
  }
  // In a folder for temporary files anybody may have put it there before us.
  const entry = await lstat(folder);
  return entry.isDirectory() && entry.uid === 0 && (entry.mode & 0o022) === 0;
}

async function readAccounts(): Promise<Account[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  return lines.map((line) => {
    const [name = '', , uid, gid] = line.split(':');
    return { name, uid: Number(uid), gid: Number(gid) };
  });
}
