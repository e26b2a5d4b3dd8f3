import { once } from 'node:events';
import { createServer } from 'node:net';
import { relative } from 'node:path';
import type { Account } from './embedded-account.ts';
import { type Cluster, prepareAccount } from './embedded-cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { removeStaleLockFile } from './embedded-postmaster.ts';
import {
  findInstalledPrograms,
  type Programs,
  preparePrograms,
  type Running,
  startProgram,
} from './embedded-programs.ts';

/**
 * Starts PostgreSQL on a cluster, in its own process group, so that Ctrl-C stops only the gateway, which then stops
 * PostgreSQL. Defaults to a free port.
 * @returns whether the server is ready; `false` if another process uses the files or the port, so that the caller can
 *   retry
 * @throws {EmbeddedPostgresError} with PostgreSQL's last lines if it cannot start
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
  throw new EmbeddedPostgresError(
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
