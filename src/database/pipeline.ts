import type { Pool, PoolClient, PoolConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { readSystemErrorCode } from '../errors/failure.ts';
import { breakConnection, holdWrites, type Outage, openPool } from './pool.ts';

/** One connection is enough for a process; the second takes over while a slow statement runs on the first. */
const MAX_CONNECTIONS = 2;

/** A connection without a result for this long is slow: further statements are sent on another connection. */
const SLOW_MS = 20;

/** The maximum number of statements in one write. With more, PostgreSQL would idle while they are collected. */
const MAX_STATEMENTS_PER_WRITE = 8;

/** PostgreSQL keeps prepared statements until the connection closes, so a connection with this many is replaced. */
const MAX_PREPARED_STATEMENTS = 200;

/** PostgreSQL's `query_canceled`, which reports a statement timeout, and `lock_not_available`. */
const TIMED_OUT = new Set<string | undefined>(['57014', '55P03']);

/**
 * Runs read-only statements. Concurrent statements are sent on one connection without waiting for results, because
 * waking PostgreSQL's process for each of them costs more than a short statement.
 */
export class Pipeline {
  readonly pool: Pool;
  readonly #statements = new WeakMap<PoolClient, Set<string>>();
  #lease: Lease | undefined;

  constructor(options: PoolConfig, outage?: Outage) {
    this.pool = openPool({ ...options, max: MAX_CONNECTIONS, idleTimeoutMillis: 0, pipeline: true }, outage);
  }

  /**
   * Runs a statement and returns its rows. If a statement times out, it fails, and the statements queued behind it are
   * sent again, each alone on another connection.
   * @throws {Error} as the pool's own `query` does
   */
  async query<Row extends QueryResultRow>(statement: QueryConfig): Promise<Row[]> {
    const lease = this.#join();
    try {
      const rows = await this.#send<Row>(lease, await lease.client, statement);
      return rows;
    } catch (error) {
      // Not awaited, so that `finally` ends this lease without waiting for the retry.
      if (lease.hasTimedOut) return this.#retryAlone(statement);
      await this.#fail(lease, error);
      throw error;
    } finally {
      this.#leave(lease);
    }
  }

  /**
   * Runs statements of which the later ones must see what the earlier ones see: all on one connection, in the order in
   * which `read` sends them. They share it with other statements, but none is sent again on another connection.
   * @throws {Error} as the pool's own `query` does
   */
  async inOrder<Result>(read: (query: Query) => Promise<Result>): Promise<Result> {
    const lease = this.#join();
    try {
      const client = await lease.client;
      return await read((statement) => this.#send(lease, client, statement));
    } catch (error) {
      await this.#fail(lease, error);
      throw error;
    } finally {
      this.#leave(lease);
    }
  }

  async #send<Row extends QueryResultRow>(
    lease: Lease,
    client: PoolClient,
    statement: QueryConfig,
  ): Promise<Row[]> {
    this.#countStatement(statement, client, lease);
    const { rows } = await send<Row>(lease, client, statement);
    lease.progressAt = performance.now();
    return rows;
  }

  async #fail(lease: Lease, error: unknown): Promise<void> {
    this.#stopSharing(lease);
    if (!lease.hasTimedOut && TIMED_OUT.has(readSystemErrorCode(error))) await abandon(lease);
  }

  #leave(lease: Lease): void {
    lease.progressAt = performance.now();
    lease.running -= 1;
    if (lease.running > 0) return;
    this.#stopSharing(lease);
    lease.client.then(
      (client) => client.release(lease.isFull),
      () => undefined,
    );
  }

  /** Runs a statement without its name, so that it is not prepared on this connection too. */
  async #retryAlone<Row extends QueryResultRow>({ text, values = [] }: QueryConfig): Promise<Row[]> {
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

  /** Sends no further statements on the connection of a lease. */
  #stopSharing(lease: Lease): void {
    if (this.#lease === lease) this.#lease = undefined;
  }

  /** Counts the prepared statements of a connection. A connection with too many gets no further statements. */
  #countStatement({ name }: QueryConfig, client: PoolClient, lease: Lease): void {
    if (name === undefined) return;
    const known = this.#statements.get(client) ?? new Set();
    this.#statements.set(client, known.add(name));
    if (known.size < MAX_PREPARED_STATEMENTS) return;
    lease.isFull = true;
    this.#stopSharing(lease);
  }
}

/** Sends a statement and returns its rows. */
export type Query = <Row extends QueryResultRow>(statement: QueryConfig) => Promise<Row[]>;

/** The use of a connection, which begins with a statement and ends when no statement is running. */
type Lease = {
  client: Promise<PoolClient>;
  running: number;
  /** Statements that are not written to the socket yet. */
  unsent: number;
  /** Writes them. */
  sendHeld?: () => void;
  /** The time of the last result, or of the start of the lease, by `performance.now()`. */
  progressAt: number;
  hasTimedOut: boolean;
  /** Whether the connection has too many prepared statements to be used again. */
  isFull: boolean;
};

/**
 * Sends a statement. Statements sent in one turn of the event loop share a write, because a write costs more than the
 * statements in it.
 */
function send<Row extends QueryResultRow>(lease: Lease, client: PoolClient, statement: QueryConfig) {
  if (lease.unsent === 0) {
    lease.sendHeld = holdWrites(client);
    setImmediate(flush, lease);
  }
  lease.unsent += 1;
  // With a callback, because pg's own promise keeps the result of each pipelined statement in memory until the next major
  // garbage collection.
  const result = new Promise<QueryResult<Row>>((resolve, reject) => {
    client.query<Row>(statement, (error, found) => (error ? reject(error) : resolve(found)));
  });
  if (lease.unsent === MAX_STATEMENTS_PER_WRITE) flush(lease);
  return result;
}

function flush(lease: Lease): void {
  if (lease.unsent > 0) lease.sendHeld?.();
  lease.unsent = 0;
}

/**
 * Breaks a connection, so that the statements queued behind a timed-out statement run elsewhere instead of waiting
 * again.
 */
async function abandon(lease: Lease): Promise<void> {
  lease.hasTimedOut = true;
  breakConnection(await lease.client);
}
