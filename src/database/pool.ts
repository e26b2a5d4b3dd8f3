import { Socket } from 'node:net';
import { type Pool, type PoolClient, types } from 'pg';
import { timeFromPostgres } from '../time.ts';

/** How to reach the database: an address, connections at most, and milliseconds for each wait. */
export type PoolOptions = { url: string; poolSize: number; timeoutMs: number };

/** A server that no longer answers at all is given up so much later than one that does. */
const SILENCE_MS = 1000;

/** Settings of the connections, so that no wait is without end and a pool recovers from any outage by itself. */
export function poolOptions({ url, poolSize, timeoutMs }: PoolOptions, watch: PoolWatch) {
  return {
    connectionString: inUtc(url),
    max: poolSize,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    lock_timeout: timeoutMs,
    idle_in_transaction_session_timeout: timeoutMs,
    keepAlive: true,
    types: { getTypeParser },
    stream: () => impatientSocket(timeoutMs + SILENCE_MS),
    onPoolCreated: (pool: Pool) => watch.begin(pool),
  };
}

/** Times come in the zone of the connection, and are read as UTC. */
function inUtc(url: string): string {
  const address = new URL(url);
  const given = address.searchParams.get('options');
  address.searchParams.set('options', [given, '-c TimeZone=UTC'].filter(Boolean).join(' '));
  return address.href;
}

/** How the values of a type are read, by the type's number in PostgreSQL, where not as pg does. */
const parsers = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, Number],
  [types.builtins.TIMESTAMPTZ, timeFromPostgres],
]);

function getTypeParser(type: number, format?: 'text' | 'binary') {
  return parsers.get(type) ?? types.getTypeParser(type, format);
}

/**
 * A socket that breaks when nothing has come or gone for so long. A query's own timeout would give a dead connection
 * back to the pool, where the next query would wait on it in vain.
 */
function impatientSocket(silenceMs: number): Socket {
  const socket = new Socket();
  const giveUp = () => socket.destroy(new Error(`The database was silent for ${silenceMs} ms.`));
  return socket.setTimeout(silenceMs, giveUp);
}

/** Watches a pool's connections. */
export type PoolWatch = {
  begin(pool: Pool): void;
  /** Connections that are in use or idle, and requests that wait for one. */
  counts(): { used: number; idle: number; pending: number };
  /** Breaks the connections that are in use, with whatever runs on them. */
  breakUsed(): void;
};

/**
 * Takes connections that break while they are in use out of the pool. Kysely gives none back whose transaction can
 * neither begin nor be rolled back: a restart of the database would use up the pool for good.
 */
export function watchPool(): PoolWatch {
  const inUse = new Set<PoolClient>();
  let watched: Pool | undefined;

  const drop = (client: PoolClient) => {
    if (!inUse.has(client)) return;
    client.release(true);
    // Whoever still holds it may give it back later.
    client.release = () => undefined;
  };
  return {
    begin(pool) {
      watched = pool;
      pool.on('acquire', (client) => inUse.add(client));
      pool.on('release', (_error, client) => inUse.delete(client));
      pool.on('connect', (client) => client.once('end', () => drop(client)));
    },
    counts() {
      const { totalCount = 0, idleCount = 0, waitingCount = 0 } = watched ?? {};
      return { used: totalCount - idleCount, idle: idleCount, pending: waitingCount };
    },
    breakUsed() {
      for (const client of [...inUse]) drop(client);
    },
  };
}
