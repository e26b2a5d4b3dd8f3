import { once } from 'node:events';
import { readFile, readlink, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OperatorError, readSystemErrorCode } from '../../src/errors/failure.ts';
import type { Account } from './account.ts';
import { type Cluster, prepareAccount } from './cluster.ts';
import {
  findInstalledPrograms,
  type Programs,
  preparePrograms,
  type Running,
  startProgram,
} from './programs.ts';

/** PostgreSQL's main process. `isStopping`: it has begun to shut down, though its backends may still respond. */
export type Postmaster = { pid: number; port: number; isStopping: boolean };

const FAST_SHUTDOWN_MS = 20_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;
const POLL_MS = 20;

/** Reads PostgreSQL's lock file, which may be stale: only a connection proves that the server is running. */
export async function readPostmaster({ directory }: Cluster): Promise<Postmaster | undefined> {
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, lockedDirectory, , port, , , , status] = text.split('\n');
  // A copied data directory contains the lock file of the original.
  if (lockedDirectory !== directory || !Number(pid) || !Number(port)) return undefined;
  return { pid: Number(pid), port: Number(port), isStopping: status?.trim() === 'stopping' };
}

/**
 * Starts PostgreSQL on a cluster, in its own process group, so that Ctrl-C stops only the gateway, which then stops
 * PostgreSQL. Defaults to a free port.
 * @returns whether the server is ready; `false` if another process uses the files or the port, so that the caller can
 *   retry
 * @throws {OperatorError} with PostgreSQL's last lines if it cannot start
 */
export async function startPostmaster(
  cluster: Cluster,
  printLine: (line: string) => void,
  port?: number,
): Promise<boolean> {
  const account = await prepareAccount(cluster);
  const installed = await findInstalledPrograms();
  const programs = await preparePrograms(installed, account);
  const running = startProgram(
    programs,
    account,
    ['postgres', ...listArguments(cluster, port ?? (await findFreePort()))],
    true,
  );
  const ready = await awaitReady(running);
  // PostgreSQL continues without a reader of its messages.
  running.child.stdin?.destroy();
  running.child.stderr?.destroy();
  running.child.unref();
  if (ready) {
    if (account) printLocations(cluster, account, installed, programs, printLine);
    return true;
  }
  const reason = running.lastLines();
  if (reason.includes('Address already in use')) return false;
  // Backends of a killed server finish their statement before they exit.
  if (reason.includes('shared memory block') && reason.includes('still in use')) return false;
  if (reason.includes('"postmaster.pid" already exists')) {
    await removeStaleLockFile(cluster);
    return false;
  }
  throw new OperatorError(
    `PostgreSQL could not start on ${cluster.directory}. Its last lines were:\n${reason}`,
  );
}

function listArguments({ directory }: Cluster, port: number): string[] {
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

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

function awaitReady({ child, lastLines }: Running): Promise<boolean> {
  return new Promise((resolve) => {
    child.stderr?.on('data', () => {
      if (lastLines().includes('ready to accept connections')) resolve(true);
    });
    child.once('error', () => resolve(false));
    child.once('close', () => resolve(false));
  });
}

function printLocations(
  cluster: Cluster,
  account: Account,
  installed: Programs,
  programs: Programs,
  printLine: (line: string) => void,
): void {
  const locations = [
    relative(cluster.dataDir, cluster.directory).startsWith('..')
      ? `its database is in ${cluster.directory}`
      : '',
    programs.directory === installed.directory ? '' : `its programs are copied to ${programs.directory}`,
  ].filter(Boolean);
  if (locations.length === 0) return;
  printLine(
    `PostgreSQL refuses to run as root, and the account ${account.name} that it runs as cannot read the gateway's ` +
      `files, so ${locations.join(' and ')}.`,
  );
}

/**
 * Stops PostgreSQL by a fast shutdown or, if that takes too long, by an immediate shutdown. Waits until it has exited.
 */
export async function stopPostmaster(cluster: Cluster, { pid }: Postmaster): Promise<void> {
  if (!(await isPostmaster(cluster, pid))) return;
  for (const [signal, timeoutMs] of [
    ['SIGINT', FAST_SHUTDOWN_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    sendSignal(signal, pid);
    const deadline = Date.now() + timeoutMs;
    while (Date.now() < deadline) {
      if (!(await isPostmaster(cluster, pid))) return;
      await pause(POLL_MS);
    }
  }
  throw new OperatorError(
    `PostgreSQL (process ${pid}) on ${cluster.directory} did not stop. Stop that process.`,
  );
}

function sendSignal(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process may have exited since its ID was read.
    if (readSystemErrorCode(error) !== 'ESRCH') throw error;
  }
}

/**
 * PostgreSQL itself replaces the lock file of a dead process, but not if another process now has its ID, which is
 * common in containers.
 */
async function removeStaleLockFile(cluster: Cluster): Promise<void> {
  const postmaster = await readPostmaster(cluster);
  if (postmaster && !(await isPostmaster(cluster, postmaster.pid))) {
    await rm(join(cluster.directory, 'postmaster.pid'), { force: true });
  }
}

/**
 * Whether the process is alive and, on Linux, has the cluster's directory as its working directory. A process of
 * another user, which cannot be inspected, counts.
 */
async function isPostmaster({ directory }: Cluster, pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return readSystemErrorCode(error) === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  try {
    const workingDirectory = await readlink(`/proc/${pid}/cwd`);
    return workingDirectory === directory || workingDirectory === `${directory} (deleted)`;
  } catch (error) {
    // EACCES: the process belongs to another user. Any other error: it is a zombie, which has no working directory.
    return readSystemErrorCode(error) === 'EACCES';
  }
}
