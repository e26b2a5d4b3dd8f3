import { chmod, lstat, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OperatorError, readSystemErrorCode } from '../../src/errors/failure.ts';

/** An account of this machine. */
export type Account = { name: string; uid: number; gid: number };

/** Permission bits of a directory for one class of users. */
export const ENTER = 0o1;
export const READ_AND_ENTER = 0o5;

const SHARED_FOLDER = 'workspace-account-gateway';

/** Whether this process runs as root. PostgreSQL refuses to run as root. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Finds an account without privileges: `postgres`, or else `nobody`.
 * @throws {OperatorError} if neither exists
 */
export async function findUnprivilegedAccount(): Promise<Account> {
  const accounts = await readAccounts();
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((candidate) => candidate.name === name && candidate.uid > 0);
    if (account) return account;
  }
  throw new OperatorError(
    'PostgreSQL refuses to run as root, and this machine has no account "postgres" or "nobody". ' +
      'Start the gateway as another user, or set DATABASE_URL.',
  );
}

/** Returns the account that owns a file. */
export async function readOwner(path: string): Promise<Account> {
  const { uid, gid } = await stat(path);
  const known = (await readAccounts()).find((account) => account.uid === uid);
  return { name: known?.name ?? `with user ID ${uid}`, uid, gid };
}

/** Whether the account can traverse every parent directory of a path and has these permissions on the path itself. */
export async function hasPermissions(account: Account, bits: number, path: string): Promise<boolean> {
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
 * Opens a directory that root owns and the account can read, for files that it cannot access in their own location.
 * @throws {OperatorError} if no such directory can be created
 */
export async function openSharedFolder(account: Account): Promise<string> {
  for (const parent of ['/var/lib', tmpdir()]) {
    const folder = join(parent, SHARED_FOLDER);
    if ((await makeFolder(folder)) && (await hasPermissions(account, READ_AND_ENTER, folder))) return folder;
  }
  throw new OperatorError(
    `PostgreSQL refuses to run as root, and the account ${account.name} can access neither the gateway's files ` +
      `nor a directory "${SHARED_FOLDER}" in /var/lib or ${tmpdir()}. ` +
      'Start the gateway as another user, or set DATABASE_URL.',
  );
}

async function makeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    await chmod(folder, 0o755);
  } catch (error) {
    if (readSystemErrorCode(error) !== 'EEXIST') return false;
  }
  // Another user may have created it in the directory for temporary files.
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
