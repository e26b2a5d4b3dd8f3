import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { type Cluster, DATABASE, openCluster, removeLeftovers, USER } from './embedded-cluster.ts';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';
import { type Postmaster, readPostmaster, startPostmaster, stopPostmaster } from './embedded-postmaster.ts';

export { EmbeddedPostgresError } from './embedded-postgres-error.ts';

/** A running PostgreSQL whose files lie below a data directory. */
export type EmbeddedPostgres = {
  /** The `postgres://` address of the gateway's database on it. */
  url: string;
  /** Stops the server if this process owns it, whatever clients are connected; otherwise only lets go of it. */
  stop(): Promise<void>;
};

/** Where the files lie, and who is told, in one line, when they have to lie elsewhere. */
export type EmbeddedPostgresOptions = { dataDir: string; notice(line: string): void };

/** A connection to the server; it owns the server while it holds the lock. */
type Session = { client: pg.Client; postmaster: Postmaster; owns: boolean };

const PATIENCE_MS = 30_000;
const POLL_MS = 50;
const RETAKE_MS = 200;
const CONNECT_MS = 5_000;
/** The time PostgreSQL may take to notice that an owner was killed. */
const KILLED_OWNER_MS = 1_000;

/**
 * Starts the server and owns it. A server whose owner was killed is taken over.
 *
 * @throws EmbeddedPostgresError when another gateway owns it, or when PostgreSQL cannot start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(options.dataDir);
  const session = await openSession(cluster, options.notice, KILLED_OWNER_MS);
  if (session.owns) {
    await removeLeftovers(cluster);
    return ownedServer(cluster, session);
  }
  await session.client.end();
  throw new EmbeddedPostgresError(
    `A gateway is already running on the data directory ${cluster.dataDir} ` +
      `(PostgreSQL process ${session.postmaster.pid}). ` +
      'Stop it first, or give this one its own DATA_DIR or DATABASE_URL.',
  );
}

/**
 * For commands: the server that a gateway owns, which stays up, or else one for the time being.
 *
 * @throws EmbeddedPostgresError when PostgreSQL cannot start.
 */
export async function attachEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(options.dataDir);
  const session = await openSession(cluster, options.notice, 0);
  if (session.owns) return ownedServer(cluster, session);
  await session.client.end();
  return { url: connectionUrl(cluster, session.postmaster), stop: async () => undefined };
}

function ownedServer(cluster: Cluster, taken: Session): EmbeddedPostgres {
  let stopping: Promise<void> | undefined;
  let held: Promise<Session | undefined> = Promise.resolve(taken);

  // PostgreSQL drops all connections when one of its processes crashes, and the lock with them.
  const watch = (session: Session): void => {
    session.client.once('end', () => {
      if (!stopping) held = hold();
    });
  };
  const hold = async (): Promise<Session | undefined> => {
    let session: Session | undefined;
    do {
      await pause(RETAKE_MS);
      session = await retake(cluster);
    } while (!session && !stopping);
    if (session) watch(session);
    return session;
  };
  const stop = async (): Promise<void> => {
    const session = await held;
    if (!session) return;
    // The lock is held to the end, so that nobody takes over a server that is about to stop.
    await stopPostmaster(cluster, session.postmaster);
    await session.client.end();
  };

  watch(taken);
  return {
    url: connectionUrl(cluster, taken.postmaster),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Connects to the server, starting it where none runs, and tries for so long to own it. */
async function openSession(
  cluster: Cluster,
  notice: (line: string) => void,
  lockTimeoutMs: number,
): Promise<Session> {
  const deadline = Date.now() + PATIENCE_MS;
  while (Date.now() < deadline) {
    const session = await connect(cluster, lockTimeoutMs);
    if (session && session !== 'busy') return session;
    const serves = session !== 'busy' && (await startPostmaster(cluster, notice));
    if (!serves) await pause(POLL_MS);
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL's files in ${cluster.directory} are in use, but nothing answers. ` +
      'Stop the process named in its postmaster.pid, then start again.',
  );
}

/** A session with the server that runs on the cluster, `busy` while it starts or stops, nothing when none runs. */
async function connect(cluster: Cluster, lockTimeoutMs: number): Promise<Session | 'busy' | undefined> {
  const postmaster = await readPostmaster(cluster);
  if (!postmaster) return undefined;
  const { port } = postmaster;
  const { password } = cluster;
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: USER,
    password,
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: CONNECT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    // The lock file may be an old one, and the port another server's by now.
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    if (rows[0]?.data_directory === cluster.directory) {
      return { client, postmaster, owns: await takeLock(client, lockTimeoutMs) };
    }
  } catch (error) {
    if (errorCode(error)?.startsWith('57P')) return 'busy';
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

async function retake(cluster: Cluster): Promise<Session | undefined> {
  const session = await connect(cluster, 0);
  if (!session || session === 'busy') return undefined;
  if (session.owns) return session;
  await session.client.end();
  return undefined;
}

function connectionUrl({ password }: Cluster, { port }: Postmaster): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}
