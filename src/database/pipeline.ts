import type { Duplex } from 'node:stream';
import { Pool, type PoolClient, type PoolConfig, type QueryConfig, type QueryResultRow } from 'pg';
import { codeOf } from './embedded-postgres-error.ts';

/** One keeps up with all that a process can ask; the second is for when something slow runs on it. */
const CONNECTIONS = 2;

/** Nothing is put behind a statement that has taken so many milliseconds. */
const SLOW_MS = 20;

/** So many statements at most are written at once: with more PostgreSQL would idle while they are gathered. */
const TOGETHER = 8;

/** PostgreSQL's `query_canceled`, which a statement's timeout is, and `lock_not_available`. */
const TIMED_OUT = new Set<string | undefined>(['57014', '55P03']);

/**
 * Runs statements that only read. Those that come at once are sent one behind another on the same connection, before
 * the first is answered: the gateway and PostgreSQL wake each other once for many of them, which costs more than a
 * short statement itself.
 */
export class Pipeline {
  readonly pool: Pool;
  #lease: Lease | undefined;

  constructor(options: PoolConfig) {
    this.pool = new Pool({ ...options, max: CONNECTIONS, idleTimeoutMillis: 0, pipeline: true });
    // Statements under way fail by themselves; unheard, the events would end the process.
    this.pool.on('error', () => undefined);
    this.pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** The rows of a statement. @throws {Error} as the pool's own `query` does */
  async query<Row extends QueryResultRow>(statement: QueryConfig): Promise<Row[]> {
    const lease = this.#join();
    try {
      const client = await lease.client;
      const { rows } = await send<Row>(lease, client, statement);
      return rows;
    } catch (error) {
      this.#leave(lease);
      if (TIMED_OUT.has(codeOf(error))) await giveUp(lease);
      throw error;
    } finally {
      lease.progressAt = performance.now();
      lease.running -= 1;
      if (lease.running === 0) {
        this.#leave(lease);
        lease.client.then(
          (client) => client.release(),
          () => undefined,
        );
      }
    }
  }

  #join(): Lease {
    const now = performance.now();
    if (this.#lease === undefined || now - this.#lease.progressAt > SLOW_MS) {
      this.#lease = { client: this.pool.connect(), running: 0, unsent: 0, progressAt: now };
    }
    this.#lease.running += 1;
    return this.#lease;
  }

  #leave(lease: Lease): void {
    if (this.#lease === lease) this.#lease = undefined;
  }
}

/** A connection for as long as statements run on it, and when the last of them ended. */
type Lease = { client: Promise<PoolClient>; running: number; unsent: number; progressAt: number };

/** Statements of one turn of the event loop are written together: a write costs more than what it writes. */
function send<Row extends QueryResultRow>(lease: Lease, client: PoolClient, statement: QueryConfig) {
  const { stream } = client.connection;
  if (lease.unsent === 0) {
    stream.cork();
    setImmediate(flush, lease, stream);
  }
  lease.unsent += 1;
  const result = client.query<Row>(statement);
  if (lease.unsent === TOGETHER) flush(lease, stream);
  return result;
}

function flush(lease: Lease, stream: Duplex): void {
  if (lease.unsent > 0) stream.uncork();
  lease.unsent = 0;
}

/** Whatever is behind a statement that timed out has waited as long, and would have to wait as long again. */
async function giveUp({ client }: Lease): Promise<void> {
  const { connection } = await client;
  connection.stream.destroy();
}
