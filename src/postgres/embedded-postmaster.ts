import { once } from 'node:events';
import { readFile, readlink, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Account } from './embedded-account.ts';
import { accountFor, type Cluster } from './embedded-cluster.ts';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';
import {
  installedPrograms,
  type Programs,
  programsFor,
  type Running,
  startProgram,
} from './embedded-programs.ts';

/** PostgreSQL's main process. */
export type Postmaster = { pid: number; port: number };

const FAST_SHUTDOWN_MS = 20_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;
const POLL_MS = 20;

/** What PostgreSQL's own lock file says. Only a connection tells whether it is true. */
export async function readPostmaster({ directory }: Cluster): Promise<Postmaster | undefined> {
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, itsDirectory, , port] = text.split('\n');
  // A copied data directory brings the lock file of the original with it.
  if (itsDirectory !== directory || !Number(pid) || !Number(port)) return undefined;
  return { pid: Number(pid), port: Number(port) };
}

/**
 * Starts PostgreSQL on the cluster, in a session of its own: Ctrl-C in a terminal reaches the gateway alone, which
 * stops PostgreSQL when it no longer needs it. Without a port it listens on a free one.
 *
 * @returns Whether it serves. If not, another process was faster, or the port was taken, and one may try again.
 * @throws EmbeddedPostgresError with PostgreSQL's last lines when it cannot start.
 */
export async function startPostmaster(
  cluster: Cluster,
  notice: (line: string) => void,
  port?: number,
): Promise<boolean> {
  const account = await accountFor(cluster);
  const installed = await installedPrograms();
  const programs = await programsFor(installed, account);
  const running = startProgram(
    programs,
    account,
    ['postgres', ...flags(cluster, port ?? (await freePort()))],
    true,
  );
  const ready = await serves(running);
  // PostgreSQL ignores that nobody reads its messages.
  running.child.stdin?.destroy();
  running.child.stderr?.destroy();
  running.child.unref();
  if (ready) {
    if (account) noticePlaces(cluster, account, installed, programs, notice);
    return true;
  }
  const reason = running.lastLines();
  if (reason.includes('Address already in use')) return false;
  // Processes of a killed server finish their statement before they end.
  if (reason.includes('shared memory block') && reason.includes('still in use')) return false;
  if (reason.includes('"postmaster.pid" already exists')) {
    await removeStaleLockFile(cluster);
    return false;
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL does not start on ${cluster.directory}. Its last lines were:\n${reason}`,
  );
}

/** Whether PostgreSQL runs on the cluster at this port, ready or not. */
export async function isServerRunning(cluster: Cluster, port: number): Promise<boolean> {
  const postmaster = await readPostmaster(cluster);
  return postmaster?.port === port && isPostmaster(cluster, postmaster.pid);
}

/** Stops PostgreSQL and waits until it is gone: at once for its clients, with nothing lost. */
export async function stopPostmaster(cluster: Cluster, { pid }: Postmaster): Promise<void> {
  if (!(await isPostmaster(cluster, pid))) return;
  for (const [signal, timeoutMs] of [
    ['SIGINT', FAST_SHUTDOWN_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    send(signal, pid);
    const deadline = Date.now() + timeoutMs;
    while (Date.now() < deadline) {
      if (!(await isPostmaster(cluster, pid))) return;
      await pause(POLL_MS);
    }
  }
  throw new EmbeddedPostgresError(`PostgreSQL (process ${pid}) on ${cluster.directory} does not stop.`);
}

function send(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It may have gone by itself meanwhile.
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

function flags({ directory }: Cluster, port: number): string[] {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    log_checkpoints: 'off',
  };
  return [
    '-D',
    directory,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

function serves({ child, lastLines }: Running): Promise<boolean> {
  return new Promise((resolve) => {
    child.stderr?.on('data', () => {
      if (lastLines().includes('ready to accept connections')) resolve(true);
    });
    child.once('error', () => resolve(false));
    child.once('close', () => resolve(false));
  });
}

function noticePlaces(
  cluster: Cluster,
  account: Account,
  installed: Programs,
  programs: Programs,
  notice: (line: string) => void,
): void {
  const places = [
    relative(cluster.dataDir, cluster.directory).startsWith('..')
      ? `its database is in ${cluster.directory}`
      : '',
    programs.directory === installed.directory ? '' : `its programs are copied to ${programs.directory}`,
  ].filter(Boolean);
  if (places.length === 0) return;
  notice(
    `PostgreSQL refuses to run as root, and the account ${account.name} that it runs as cannot read the files of the ` +
      `gateway where they are: ${places.join(', ')}.`,
  );
}

/**
 * PostgreSQL replaces a lock file whose process is dead, but not one whose process number was given to another
 * process since, as happens in containers.
 */
async function removeStaleLockFile(cluster: Cluster): Promise<void> {
  const holder = await readPostmaster(cluster);
  if (holder && !(await isPostmaster(cluster, holder.pid))) {
    await rm(join(cluster.directory, 'postmaster.pid'), { force: true });
  }
}

/** Whether the process is alive and, where the system can tell, is the one that works in the cluster's directory. */
async function isPostmaster({ directory }: Cluster, pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  try {
    const workingDirectory = await readlink(`/proc/${pid}/cwd`);
    return workingDirectory === directory || workingDirectory === `${directory} (deleted)`;
  } catch (error) {
    // A dead process that nobody has waited for has no working directory.
    return errorCode(error) === 'EACCES';
  }
}
