import type { Duplex } from 'node:stream';
import { Pool, type PoolClient, type PoolConfig, type QueryConfig, type QueryResultRow } from 'pg';
import { errorCode } from '../postgres/embedded-postgres-error.ts';

/** One keeps up with all that a process can ask; the second is for when something slow runs on it. */
const CONNECTIONS = 2;

/** Nothing is put behind a statement that has taken so many milliseconds. */
const SLOW_MS = 20;

/** So many statements at most are written at once: with more PostgreSQL would idle while they are gathered. */
const TOGETHER = 8;

/** PostgreSQL keeps named statements as long as their connection, so a connection that has more is replaced. */
const MAX_STATEMENTS = 200;

/** PostgreSQL's `query_canceled`, which a statement's timeout is, and `lock_not_available`. */
const TIMED_OUT = new Set<string | undefined>(['57014', '55P03']);

/**
 * Runs statements that only read. Those that come at once are sent one behind another on the same connection, before
 * the first is answered: the gateway and PostgreSQL wake each other once for many of them, which costs more than a
 * short statement itself.
 */
export class Pipeline {
  readonly pool: Pool;
  readonly #statements = new WeakMap<PoolClient, Set<string>>();
  #lease: Lease | undefined;

  constructor(options: PoolConfig) {
    this.pool = new Pool({ ...options, max: CONNECTIONS, idleTimeoutMillis: 0, pipeline: true });
    // Statements under way fail by themselves; unheard, the events would end the process.
    this.pool.on('error', () => undefined);
    this.pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /**
   * The rows of a statement. One that was behind a statement that timed out is run once more, on a connection that it
   * has for itself.
   * @throws {Error} as the pool's own `query` does
   */
  async query<Row extends QueryResultRow>(statement: QueryConfig): Promise<Row[]> {
    const lease = this.#join();
    try {
      const client = await lease.client;
      this.#note(statement, client, lease);
      const { rows } = await send<Row>(lease, client, statement);
      return rows;
    } catch (error) {
      this.#leave(lease);
      if (!lease.hasTimedOut) {
        if (TIMED_OUT.has(errorCode(error))) await giveUp(lease);
        throw error;
      }
    } finally {
      lease.progressAt = performance.now();
      lease.running -= 1;
      if (lease.running === 0) {
        this.#leave(lease);
        lease.client.then(
          (client) => client.release(lease.isFull),
          () => undefined,
        );
      }
    }
    // Without its name, so that PostgreSQL keeps nothing of it.
    const { text, values = [] } = statement;
    const { rows } = await this.pool.query<Row>(text, values);
    return rows;
  }

  #join(): Lease {
    const now = performance.now();
    if (this.#lease === undefined || now - this.#lease.progressAt > SLOW_MS) {
      this.#lease = {
        client: this.pool.connect(),
        running: 0,
        unsent: 0,
        progressAt: now,
        hasTimedOut: false,
        isFull: false,
      };
    }
    this.#lease.running += 1;
    return this.#lease;
  }

  #leave(lease: Lease): void {
    if (this.#lease === lease) this.#lease = undefined;
  }

  /** Notes which statements PostgreSQL keeps for a connection; nobody else joins one that has too many. */
  #note({ name }: QueryConfig, client: PoolClient, lease: Lease): void {
    if (name === undefined) return;
    const known = this.#statements.get(client) ?? new Set();
    this.#statements.set(client, known.add(name));
    if (known.size < MAX_STATEMENTS) return;
    lease.isFull = true;
    this.#leave(lease);
  }
}

/** A connection for as long as statements run on it, and when the last of them ended. */
type Lease = {
  client: Promise<PoolClient>;
  running: number;
  unsent: number;
  progressAt: number;
  hasTimedOut: boolean;
  isFull: boolean;
};

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

/** Whatever is behind a statement that timed out may wait as long again: it is better run elsewhere. */
async function giveUp(lease: Lease): Promise<void> {
  lease.hasTimedOut = true;
  const { connection } = await lease.client;
  connection.stream.destroy();
}
