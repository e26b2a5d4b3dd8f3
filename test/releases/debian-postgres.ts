import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findUnprivilegedAccount, isRoot } from '../../dev/postgres/account.ts';
import { freePort } from '../support/servers.ts';

/** Debian's PostgreSQL with its client programs, which the embedded PostgreSQL does not include. */
export type DebianPostgres = { url: string; programs: string; stop(): Promise<void> };

const root = '/usr/lib/postgresql';

/** The folder with the programs of the latest version. */
const programs = (existsSync(root) ? readdirSync(root) : [])
  .toSorted((one, other) => Number(other) - Number(one))
  .map((version) => join(root, version, 'bin'))
  .find((folder) => existsSync(join(folder, 'initdb')));

/** Whether Debian's PostgreSQL is installed. */
export const hasDebianPostgres = programs !== undefined;

/** Starts a server with a new cluster in a folder. */
export async function startDebianPostgres(folder: string): Promise<DebianPostgres> {
  if (programs === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql');
  const account = isRoot() ? await findUnprivilegedAccount() : undefined;
  const asAccount = { cwd: '/', ...(account && { uid: account.uid, gid: account.gid }) };
  const directory = join(folder, 'cluster');
  await mkdir(directory, { mode: 0o700 });
  if (account) await chown(directory, account.uid, account.gid);
  const initdb = ['--auth=trust', '--username=gateway', '--encoding=UTF8', '--locale=C', directory];
  const { status, stderr } = spawnSync(join(programs, 'initdb'), initdb, { ...asAccount, encoding: 'utf8' });
  if (status !== 0) throw new Error(`initdb: ${stderr}`);

  const port = await freePort();
  const options = ['-D', directory, '-p', `${port}`, '-k', '', '-h', '127.0.0.1', '-F'];
  const child = spawn(join(programs, 'postgres'), options, {
    ...asAccount,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  while (!log.includes('ready to accept connections')) {
    await Promise.race([once(child.stderr, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`postgres: ${log}`);
  }
  return {
    url: `postgres://gateway@127.0.0.1:${port}/postgres`,
    programs,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      await ended;
    },
  };
}
