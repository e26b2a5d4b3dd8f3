import { readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readSystemErrorCode } from '../errors/system-error-code.ts';
import type { Cluster } from './embedded-cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

/** PostgreSQL's main process. */
export type Postmaster = { pid: number; port: number };

const FAST_SHUTDOWN_MS = 20_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;
const POLL_MS = 20;

/** Reads PostgreSQL's lock file, which may be stale: only a connection proves that the server is running. */
export async function readPostmaster({ directory }: Cluster): Promise<Postmaster | undefined> {
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, lockedDirectory, , port] = text.split('\n');
  // A copied data directory contains the lock file of the original.
  if (lockedDirectory !== directory || !Number(pid) || !Number(port)) return undefined;
  return { pid: Number(pid), port: Number(port) };
}

/** Whether PostgreSQL is running on the cluster and port, ready or not. */
export async function isServerRunning(cluster: Cluster, port: number): Promise<boolean> {
  const postmaster = await readPostmaster(cluster);
  return postmaster?.port === port && isPostmaster(cluster, postmaster.pid);
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
  throw new EmbeddedPostgresError(
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
export async function removeStaleLockFile(cluster: Cluster): Promise<void> {
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
