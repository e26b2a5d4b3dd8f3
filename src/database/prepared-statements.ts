import pg from 'pg';
import { readSystemErrorCode } from '../errors/failure.ts';
import { endSession, type PoolOptions, poolOptions } from './pool.ts';

/** How long a success counts, because each check opens connections. */
const VALID_MS = 60_000;

/** PostgreSQL's `duplicate_prepared_statement` and `invalid_sql_statement_name`. */
const LOST_NAMES = new Set(['42P05', '26000']);

/**
 * Creates a check of whether each connection has its own prepared statements. A pooler that ignores them sends the
 * transactions of different connections over one connection to PostgreSQL. A name that was prepared through one
 * connection then exists for the next one, which therefore cannot prepare it.
 */
export function createPreparedStatementCheck(options: PoolOptions): () => Promise<boolean> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let checking: Promise<boolean> | undefined;

  async function check(): Promise<boolean> {
    try {
      // The second connection fails if the first one was given the same connection to PostgreSQL, usually the one that
      // was used last. If not, a later check fails: the names remain.
      await prepareOnce(options);
      await prepareOnce(options);
      checkedAt = Date.now();
      return true;
    } catch (error) {
      // Another failure says nothing about prepared statements.
      return !LOST_NAMES.has(readSystemErrorCode(error) ?? '');
    }
  }

  return async () => {
    if (Date.now() - checkedAt < VALID_MS) return true;
    checking ??= check().finally(() => {
      checking = undefined;
    });
    return checking;
  };
}

async function prepareOnce(options: PoolOptions): Promise<void> {
  const client = new pg.Client({ ...poolOptions(options), query_timeout: options.timeoutMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query({ name: 'gateway_readiness', text: 'select 1' });
  } finally {
    await endSession(client, options.timeoutMs);
  }
}
