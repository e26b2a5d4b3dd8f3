import { Socket } from 'node:net';
import type { Pool, PoolClient } from 'pg';

/** How to reach the database: an address, connections at most, and milliseconds for each wait. */
export type PoolOptions = { url: string; poolSize: number; timeoutMs: number };

/** A server that no longer answers at all is given up so much later than one that does. */
const SILENCE_MS = 1000;

/** Settings of the connections, so that no wait is without end and a pool recovers from any outage by itself. */
export function poolOptions({ url, poolSize, timeoutMs }: PoolOptions, onCreated: (pool: Pool) => void) {
  return {
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    lock_timeout: timeoutMs,
    idle_in_transaction_session_timeout: timeoutMs,
    keepAlive: true,
    stream: () => impatientSocket(timeoutMs + SILENCE_MS),
    onPoolCreated(pool: Pool) {
      dropBroken(pool);
      onCreated(pool);
    },
  };
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

/**
 * Takes connections that break while they are in use out of the pool. Kysely gives none back whose transaction can
 * neither begin nor be rolled back: a restart of the database would use up the pool for good.
 */
function dropBroken(pool: Pool): void {
  const inUse = new Set<PoolClient>();
  pool.on('acquire', (client) => inUse.add(client));
  pool.on('release', (_error, client) => inUse.delete(client));
  pool.on('connect', (client) => {
    client.once('end', () => {
      if (!inUse.has(client)) return;
      client.release(true);
      // Whoever still holds it may give it back later.
      client.release = () => undefined;
    });
  });
}
