import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { advisoryLocks } from '../../src/database/advisory-locks.ts';
import type { DatabaseServer } from '../../src/database/database-server.ts';
import { OperatorError, readSystemErrorCode } from '../../src/errors/failure.ts';
import { type Cluster, DATABASE, openCluster, readCluster, removeLeftovers, USER } from './cluster.ts';
import { type Postmaster, readPostmaster, startPostmaster, stopPostmaster } from './postmaster.ts';

/** The directory of the files, and a function that prints messages for the operator. */
export type EmbeddedPostgresOptions = { dataDir: string; printLine(line: string): void };

/** A connection to the server. `owns`: whether it has the lock that makes this process the owner of the server. */
type Session = { client: pg.Client; postmaster: Postmaster; owns: boolean };

const POLL_MS = 50;
const CONNECT_MS = 5_000;

/** Maximum time until PostgreSQL releases the lock of a killed owner. */
const KILLED_OWNER_MS = 1_000;

/** Maximum time to wait for files or a port that another process uses. */
const MAX_WAIT_MS = 30_000;

/**
 * Starts the server. If its owner was killed and it is still running, stops it first. Restarts it if it exits
 * unexpectedly.
 * @throws {OperatorError} if another gateway owns it, or PostgreSQL cannot start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<DatabaseServer> {
  const cluster = await openCluster(options.dataDir);
  const orphan = await connect(cluster, 0);
  if (orphan && orphan !== 'busy') {
    if (orphan.owns) await stopPostmaster(cluster, orphan.postmaster);
    await orphan.client.end();
  }
  const session = await openSession(cluster, options.printLine, KILLED_OWNER_MS);
  if (session.owns) {
    await removeLeftovers(cluster);
    return own(cluster, session, options.printLine);
  }
  await session.client.end();
  throw new OperatorError(
    `A gateway or command is already using the data directory ${cluster.dataDir} ` +
      `(PostgreSQL process ${session.postmaster.pid}). ` +
      'Stop that gateway or command, or set DATA_DIR to another directory, or set DATABASE_URL.',
  );
}

/** Returns whether a data directory has an embedded database. */
export async function hasEmbeddedPostgres(dataDir: string): Promise<boolean> {
  return (await readCluster(resolve(dataDir))) !== undefined;
}

/**
 * Connects a command to the server of a running gateway, or else starts a server that runs until the command ends.
 * @throws {OperatorError} if PostgreSQL cannot start
 */
export async function attachEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<DatabaseServer> {
  const cluster = await openCluster(options.dataDir);
  const session = await openSession(cluster, options.printLine, 0);
  if (session.owns) return own(cluster, session, options.printLine);
  await session.client.end();
  const url = formatConnectionUrl(cluster, session.postmaster);
  return { url, lost: new Promise(() => undefined), stop: async () => undefined };
}

/** Keeps the server running, on the same port, until it is stopped. */
function own(cluster: Cluster, first: Session, printLine: (line: string) => void): DatabaseServer {
  const { port } = first.postmaster;
  const lost = Promise.withResolvers<unknown>();
  let stopping: Promise<void> | undefined;
  let current: Promise<Session | undefined> = Promise.resolve(first);

  // The session has the lock. When any process of PostgreSQL crashes, all connections are closed.
  const watch = (session: Session): Session => {
    session.client.once('end', () => {
      if (!stopping) current = reopen(session.postmaster);
    });
    return session;
  };
  const reopen = async (before: Postmaster): Promise<Session | undefined> => {
    try {
      const session = await openSession(cluster, () => undefined, 0, port);
      if (!session.owns || session.postmaster.port !== port) {
        throw new OperatorError(
          `PostgreSQL on ${cluster.directory} exited, and another process has started it. Start the gateway again.`,
        );
      }
      if (session.postmaster.pid !== before.pid) {
        printLine('PostgreSQL exited unexpectedly and was restarted.');
      }
      return watch(session);
    } catch (error) {
      lost.resolve(error);
      return undefined;
    }
  };
  const stop = async (): Promise<void> => {
    const session = await current;
    if (session === undefined) return;
    await stopPostmaster(cluster, session.postmaster);
    // Releases the lock last, so that no other process takes over a server that is stopping.
    await session.client.end();
  };

  watch(first);
  return {
    url: formatConnectionUrl(cluster, first.postmaster),
    lost: lost.promise,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/**
 * Connects to the server, or starts it, by default on a free port. Waits up to `lockMs` for the lock that makes this
 * process its owner.
 */
async function openSession(
  cluster: Cluster,
  printLine: (line: string) => void,
  lockMs: number,
  port?: number,
): Promise<Session> {
  let deadline = Date.now() + MAX_WAIT_MS;
  while (Date.now() < deadline) {
    const session = await connect(cluster, lockMs);
    if (session && session !== 'busy') return session;
    // A server that recovers from a crash can take long.
    if (session === 'busy') deadline = Date.now() + MAX_WAIT_MS;
    const isReady = session !== 'busy' && (await startPostmaster(cluster, printLine, port));
    if (!isReady) await pause(POLL_MS);
  }
  throw new OperatorError(
    `PostgreSQL's files in ${cluster.directory}${port ? `, or port ${port},` : ''} are in use, but no server responds. ` +
      'Stop the process named in postmaster.pid, then start the gateway again.',
  );
}

/** Connects to the server of the cluster. Returns `busy` while it starts or stops, undefined if none is running. */
async function connect(cluster: Cluster, lockMs: number): Promise<Session | 'busy' | undefined> {
  const postmaster = await readPostmaster(cluster);
  if (!postmaster) return undefined;
  const client = new pg.Client({
    connectionString: formatConnectionUrl(cluster, postmaster, 'postgres'),
    ssl: false,
    connectionTimeoutMillis: CONNECT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    // The lock file may be stale, and another server may use the port.
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    if (rows[0]?.data_directory === cluster.directory) {
      const owns = await takeLock(client, lockMs);
      // The lock is also released when the server's owner stops it.
      if (!owns || !(await readPostmaster(cluster))?.isStopping) return { client, postmaster, owns };
      await client.end();
      return 'busy';
    }
  } catch (error) {
    // 57P01 to 57P03: the server is starting, stopping or recovering from a crash.
    if (readSystemErrorCode(error)?.startsWith('57P')) return 'busy';
  }
  await client.end().catch(() => undefined);
  return undefined;
}

async function takeLock(client: pg.Client, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      advisoryLocks.embeddedServer,
    ]);
    if (rows[0]?.taken) return true;
    if (Date.now() >= deadline) return false;
    await pause(POLL_MS);
  }
}

/** Returns the `postgres://` URL of a database, by default the gateway's. */
function formatConnectionUrl({ password }: Cluster, { port }: Postmaster, database = DATABASE): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
}
