import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, Pool, type PoolClient, type PoolConfig, types } from 'pg';
import { timeFromPostgres } from '../values/time.ts';

/** The options of a database's pools. */
export type PoolOptions = {
  url: string;
  /**
   * The maximum number of connections for changes. The pool `main`, on which MikroORM runs, has half as many. Each pool for reads has two.
   */
  poolSize: number;
  /** The timeout of each wait. */
  timeoutMs: number;
};

/** PostgreSQL's own timeouts apply first; a connection that is silent this much longer is considered dead. */
const SILENCE_MARGIN_MS = 250;

/**
 * How long statements fail at once after PostgreSQL was silent on all connections for a timeout. Those that waited behind
 * the silent ones, for a connection or for their caller's turn, would otherwise wait for a timeout of their own.
 */
const OUTAGE_MS = 1000;

/** A timer may fire this much earlier than by `performance.now()`. */
const TIMER_ROUNDING_MS = 2;

/**
 * The planner's settings for prepared statements, which find rows by indexes. Without the first two, PostgreSQL scans the
 * whole table in two cases: one user owns most of the table (even if the other conditions match no record), or the table
 * was small when the statement was prepared. For the same reason, joins look rows up one by one. No statement is long
 * enough for JIT compilation to pay. A generic plan is as good as a plan for the values. PostgreSQL would otherwise plan
 * every page again, because only the values contain the size of the page.
 */
const BY_INDEX = [
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
  'plan_cache_mode=force_generic_plan',
];

/** Returns the options of the pools for prepared statements. */
export function preparedPoolOptions(options: PoolOptions): PoolConfig {
  return poolOptions({ ...options, url: withSettings(options.url, ...BY_INDEX) });
}

/** Returns the options of every connection. Each wait has a timeout, so that a pool recovers from an outage by itself. */
export function poolOptions({ url, poolSize, timeoutMs }: PoolOptions): PoolConfig {
  return {
    // PostgreSQL writes timestamps in the session's time zone; they are parsed as UTC.
    connectionString: withSettings(url, 'TimeZone=UTC'),
    max: poolSize,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    lock_timeout: timeoutMs,
    idle_in_transaction_session_timeout: timeoutMs,
    // Finds idle connections that are dead.
    keepAlive: true,
    keepAliveInitialDelayMillis: timeoutMs,
    types: { getTypeParser },
  };
}

/** Adds PostgreSQL settings to a URL. */
function withSettings(url: string, ...settings: string[]): string {
  const address = new URL(url);
  const given = address.searchParams.get('options');
  const options = [given, ...settings.map((setting) => `-c ${setting}`)];
  address.searchParams.set('options', options.filter(Boolean).join(' '));
  return address.href;
}

/**
 * The silence of PostgreSQL, as the pools of a database notice it together, by `performance.now()`: when it last accepted a
 * connection or completed what one was used for, and until when statements fail at once.
 */
export type Outage = { answeredAt: number; failingUntil: number };

/** Creates the state of a database that was not used yet. */
export const createOutage = (): Outage => ({ answeredAt: 0, failingUntil: 0 });

/** Lets statements fail at once if PostgreSQL answered nothing since a time. */
function noteSilence(outage: Outage, since: number): void {
  if (outage.answeredAt < since) outage.failingUntil = performance.now() + OUTAGE_MS;
}

/** Opens a pool for transactions whose statements are pipelined. One connection stays open, for the next change. */
export function openPipelinedPool(options: PoolOptions, outage?: Outage): Pool {
  return openPool({ ...preparedPoolOptions(options), min: 1, pipeline: true }, outage);
}

/** Opens the pool of MikroORM. */
export function openMainPool(options: PoolOptions, outage: Outage): Pool {
  return openPool({ ...poolOptions(options), max: Math.ceil(options.poolSize / 2) }, outage);
}

/**
 * Opens a pool whose lost connections do not end the process. A connection that is silent while in use is broken. The
 * pools that share an outage find it together.
 */
export function openPool(options: PoolConfig, outage = createOutage()): Pool {
  const timeoutMs = options.connectionTimeoutMillis ?? 0;
  const pool = new FailingFastPool(options, timeoutMs, outage);
  // Without listeners, the `error` event would end the process. Running statements are rejected in any case.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    breakOnTimeout(client, () => noteSilence(outage, performance.now() - timeoutMs));
  });
  pool.on('acquire', (client) => setSilenceTimeout(client, timeoutMs + SILENCE_MARGIN_MS));
  pool.on('release', (_error, client) => setSilenceTimeout(client, 0));
  return pool;
}

type Connected = Parameters<Pool['connect']>[0];

/** A pool that opens and lends no connection during an outage, and notices one. */
class FailingFastPool extends Pool {
  readonly #timeoutMs: number;
  readonly #outage: Outage;

  constructor(options: PoolConfig, timeoutMs: number, outage: Outage) {
    super(options);
    this.#timeoutMs = timeoutMs;
    this.#outage = outage;
    const noteAnswer = () => {
      outage.answeredAt = performance.now();
    };
    this.on('connect', noteAnswer);
    this.on('release', (_error, client) => {
      if (!isBroken(client)) noteAnswer();
    });
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<PoolClient> | undefined {
    if (callback === undefined) {
      return new Promise((resolve, reject) =>
        this.connect((error, client) => (client === undefined ? reject(error) : resolve(client))),
      );
    }
    const startedAt = performance.now();
    if (startedAt < this.#outage.failingUntil) {
      const error = new Error('The database sent nothing before the timeout of an earlier statement.');
      process.nextTick(callback, error, undefined, () => undefined);
      return undefined;
    }
    super.connect((error, client, done) => {
      const hasWaited = performance.now() - startedAt >= this.#timeoutMs - TIMER_ROUNDING_MS;
      if (error && hasWaited) noteSilence(this.#outage, startedAt);
      callback(error, client, done);
    });
    return undefined;
  }
}

/** Parsers that replace pg's, by the OID of the type. */
const parsers = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, Number],
  [types.builtins.TIMESTAMPTZ, timeFromPostgres],
]);

function getTypeParser(type: number, format?: 'text' | 'binary') {
  return parsers.get(type) ?? types.getTypeParser(type, format);
}

// pg does not document a client's socket. Only the next functions, up to `endSession`, use it.

/**
 * Breaks a connection when its silence times out. After a query timeout, pg would instead return a dead connection to the
 * pool, where the next query would wait on it.
 */
function breakOnTimeout({ connection: { stream } }: PoolClient, onTimeout: () => void): void {
  stream.on('timeout', () => {
    onTimeout();
    stream.destroy(new Error('The database sent nothing before the timeout.'));
  });
}

/** Whether a connection is broken. */
function isBroken({ connection: { stream } }: PoolClient): boolean {
  return stream.destroyed;
}

/** Sets how long nothing may be read or written until the connection times out; 0 if it does not. */
function setSilenceTimeout({ connection: { stream } }: PoolClient, milliseconds: number): void {
  if (stream instanceof Socket) stream.setTimeout(milliseconds);
}

/** Keeps the statements of a client from being sent until the returned function is called. They share one write. */
export function holdWrites({ connection: { stream } }: PoolClient): () => void {
  stream.cork();
  return () => stream.uncork();
}

/** Breaks a connection. The statements on it fail, and its pool, if any, opens another. */
export function breakConnection({ connection: { stream } }: Pick<Client, 'connection'>): void {
  stream.destroy();
}

/** Ends a database session within the timeout, even if the server does not respond. */
export async function endSession(client: Client, timeoutMs: number): Promise<void> {
  await Promise.race([client.end(), pause(timeoutMs, undefined, { ref: false })]).catch(() => undefined);
  breakConnection(client);
}

/**
 * The number of a pool's connections by state, their maximum, and the number of requests that wait for a connection.
 */
export type PoolState = { name: string; used: number; idle: number; max: number; pending: number };

/** Monitors the connections of several pools. */
export type PoolMonitor = {
  add(name: string, pool: Pool): void;
  states(): PoolState[];
  /** Breaks the connections that are in use. */
  breakActive(): void;
};

/** Creates a monitor. A pool must be added before its first connection is used. */
export function createPoolMonitor(): PoolMonitor {
  const inUse = new Set<PoolClient>();
  const pools = new Map<string, Pool>();

  return {
    add(name, pool) {
      pools.set(name, pool);
      pool.on('acquire', (client) => inUse.add(client));
      pool.on('release', (_error, client) => inUse.delete(client));
    },
    states() {
      return Array.from(pools, ([name, { totalCount, idleCount, waitingCount, options }]) => ({
        name,
        used: totalCount - idleCount,
        idle: idleCount,
        max: options.max,
        pending: waitingCount,
      }));
    },
    breakActive() {
      for (const client of inUse) breakConnection(client);
    },
  };
}
