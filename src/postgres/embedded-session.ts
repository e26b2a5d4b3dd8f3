import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { readSystemErrorCode } from '../errors/system-error-code.ts';
import { type Cluster, DATABASE, USER } from './embedded-cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { type Postmaster, readPostmaster } from './embedded-postmaster.ts';
import { startPostmaster } from './start-postmaster.ts';

/** A connection to the server. `owns`: whether it has the lock, and thereby owns the server. */
export type Session = { client: pg.Client; postmaster: Postmaster; owns: boolean };

const POLL_MS = 50;
const CONNECT_MS = 5_000;

/** Maximum time to wait for files or a port that another process uses. */
export const MAX_WAIT_MS = 30_000;

/** Connects to the server, or starts it. Waits up to `lockTimeoutMs` for the lock that makes this process its owner. */
export async function openSession(
  cluster: Cluster,
  printLine: (line: string) => void,
  lockTimeoutMs: number,
): Promise<Session> {
  const deadline = Date.now() + MAX_WAIT_MS;
  while (Date.now() < deadline) {
    const session = await connect(cluster, lockTimeoutMs);
    if (session && session !== 'busy') return session;
    const isReady = session !== 'busy' && (await startPostmaster(cluster, printLine));
    if (!isReady) await pause(POLL_MS);
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL's files in ${cluster.directory} are in use, but no server responds. ` +
      'Stop the process named in postmaster.pid, then start the gateway again.',
  );
}

/** Connects to the server of the cluster. Returns `busy` while it starts or stops, undefined if none is running. */
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
    // The lock file may be stale, and another server may use the port.
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    if (rows[0]?.data_directory === cluster.directory) {
      return { client, postmaster, owns: await takeLock(client, lockTimeoutMs) };
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

/** Connects to the server if it is running and this process can own it immediately. */
export async function tryOpenSession(cluster: Cluster): Promise<Session | undefined> {
  const session = await connect(cluster, 0);
  if (!session || session === 'busy') return undefined;
  if (session.owns) return session;
  await session.client.end();
  return undefined;
}

/** Returns the `postgres://` URL of the gateway's database. */
export function formatConnectionUrl({ password }: Cluster, { port }: Postmaster): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}
