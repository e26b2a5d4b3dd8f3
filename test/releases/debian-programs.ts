import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findUnprivilegedAccount, isRoot } from '../../dev/postgres/account.ts';
import { readRepositoryFile } from '../support/documentation.ts';
import { freePort } from '../support/servers.ts';

/* Debian's PostgreSQL with its client programs, which the embedded PostgreSQL does not include, and PgBouncer. */

/** A running server. */
export type DebianServer = { url: string; stop(): Promise<void> };

const root = '/usr/lib/postgresql';

/** The folder with PostgreSQL's programs of the latest version. */
export const postgresPrograms = (existsSync(root) ? readdirSync(root) : [])
  .toSorted((one, other) => Number(other) - Number(one))
  .map((version) => join(root, version, 'bin'))
  .find((folder) => existsSync(join(folder, 'initdb')));

/** Neither program runs as root. */
const account = isRoot() ? await findUnprivilegedAccount() : undefined;
const asAccount = { cwd: '/', ...(account && { uid: account.uid, gid: account.gid }) };

/** Starts a server, and waits until it logs that it is ready. */
async function startServer(
  program: string,
  options: readonly string[],
  ready: string,
  signal: NodeJS.Signals,
): Promise<() => Promise<void>> {
  const child = spawn(program, options, { ...asAccount, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  while (!log.includes(ready)) {
    await Promise.race([once(child.stderr, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`${program}: ${log}`);
  }
  return async () => {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
}

/** Starts PostgreSQL with a new cluster in a folder. */
export async function startPostgres(folder: string): Promise<DebianServer> {
  if (postgresPrograms === undefined)
    throw new Error('PostgreSQL is not installed: apt-get install postgresql');
  const directory = join(folder, 'cluster');
  await mkdir(directory, { mode: 0o700 });
  if (account) await chown(directory, account.uid, account.gid);
  const initdb = ['--auth=trust', '--username=gateway', '--encoding=UTF8', '--locale=C', directory];
  const created = spawnSync(join(postgresPrograms, 'initdb'), initdb, { ...asAccount, encoding: 'utf8' });
  if (created.status !== 0) throw new Error(`initdb: ${created.stderr}`);

  const port = await freePort();
  const options = ['-D', directory, '-p', `${port}`, '-k', '', '-h', '127.0.0.1', '-F'];
  const program = join(postgresPrograms, 'postgres');
  const stop = await startServer(program, options, 'ready to accept connections', 'SIGINT');
  return { url: `postgres://gateway@127.0.0.1:${port}/postgres`, stop };
}

const bouncer = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' });

/** Whether PgBouncer is installed. */
export const hasPgBouncer = bouncer.status === 0;

/** Whether it can track prepared statements in transaction mode, as versions since 1.21 can. */
export const tracksPreparedStatements = Number(/^PgBouncer 1\.(\d+)/m.exec(bouncer.stdout ?? '')?.[1]) >= 21;

/** The startup parameters that the documentation says to ignore. */
const [, startupParameters = ''] =
  /^ignore_startup_parameters = (.+)$/m.exec(await readRepositoryFile('docs/scaling.md')) ?? [];

/** Starts PgBouncer in front of the server of a URL, with these settings. Its files are in a folder. */
export async function startPgBouncer(
  folder: string,
  databaseUrl: string,
  settings: Record<string, string>,
): Promise<DebianServer> {
  const url = new URL(databaseUrl);
  const listenPort = `${await freePort()}`;
  const users = join(folder, 'users.txt');
  const file = join(folder, `${listenPort}.ini`);
  const options = {
    listen_addr: '127.0.0.1',
    listen_port: listenPort,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: users,
    ignore_startup_parameters: startupParameters,
    ...settings,
  };
  const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}`);
  const databases = `* = host=${url.hostname} port=${url.port}`;
  await writeFile(users, `"${url.username}" ""\n`);
  await writeFile(file, `[databases]\n${databases}\n[pgbouncer]\n${lines.join('\n')}\n`);
  await chmod(folder, 0o755);
  const stop = await startServer('pgbouncer', [file], 'process up', 'SIGKILL');
  url.port = listenPort;
  return { url: url.href, stop };
}
