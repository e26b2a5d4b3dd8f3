import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findUnprivilegedAccount, isRoot } from '../../dev/postgres/account.ts';
import { readRepositoryFile } from '../support/documentation.ts';
import { freePort } from '../support/servers.ts';

/** A running PgBouncer in front of a database. */
export type PgBouncer = { url: string; stop(): Promise<void> };

const { status, stdout } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' });

/** Whether Debian's PgBouncer is installed. */
export const hasPgBouncer = status === 0;

/** Whether it can track prepared statements in transaction mode, as versions since 1.21 can. */
export const tracksPreparedStatements = Number(/^PgBouncer 1\.(\d+)/m.exec(stdout ?? '')?.[1]) >= 21;

/** The startup parameters that the documentation says to ignore. */
const [, startupParameters = ''] =
  /^ignore_startup_parameters = (.+)$/m.exec(await readRepositoryFile('docs/scaling.md')) ?? [];

/** Starts PgBouncer in front of the server of a URL, with these settings. Its files are in a folder. */
export async function startPgBouncer(
  folder: string,
  databaseUrl: string,
  settings: Record<string, string>,
): Promise<PgBouncer> {
  const { hostname, port, username } = new URL(databaseUrl);
  const listenPort = await freePort();
  const users = join(folder, 'users.txt');
  const file = join(folder, `${listenPort}.ini`);
  const options = {
    listen_addr: '127.0.0.1',
    listen_port: `${listenPort}`,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: users,
    ignore_startup_parameters: startupParameters,
    ...settings,
  };
  const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}`);
  await writeFile(users, `"${username}" ""\n`);
  await writeFile(file, `[databases]\n* = host=${hostname} port=${port}\n[pgbouncer]\n${lines.join('\n')}\n`);
  // PgBouncer does not run as root.
  await chmod(folder, 0o755);
  const account = isRoot() ? await findUnprivilegedAccount() : undefined;
  const child = spawn('pgbouncer', [file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(account && { uid: account.uid, gid: account.gid }),
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  while (!log.includes('process up')) {
    await Promise.race([once(child.stderr, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`pgbouncer: ${log}`);
  }
  const url = new URL(databaseUrl);
  url.port = `${listenPort}`;
  return {
    url: url.href,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
