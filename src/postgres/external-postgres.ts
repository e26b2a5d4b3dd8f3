import pg from 'pg';
import { OperatorError } from '../errors/operator-error.ts';

/** PostgreSQL 14, as `server_version_num` counts. */
const OLDEST_VERSION = 140_000;

/**
 * Connects once to the configured server, so that one that is away or cannot serve is told at the start.
 *
 * @throws OperatorError with what PostgreSQL or the network said; never with the address's password.
 */
export async function checkExternalPostgres(url: string, timeoutMs: number): Promise<void> {
  const version = await serverVersion(url, timeoutMs).catch((error: unknown) => {
    throw new OperatorError(
      `The database at ${hostName(url)} cannot be used: ${describeReason(error)}. ` +
        'See that PostgreSQL runs there and takes connections, or set DATABASE_URL to where it does.',
      { cause: error },
    );
  });
  if (version < OLDEST_VERSION) {
    throw new OperatorError(
      `The database at ${hostName(url)} is PostgreSQL ${Math.floor(version / 10_000)}; 14 or later is needed. ` +
        'Set DATABASE_URL to a later one.',
    );
  }
}

async function serverVersion(url: string, timeoutMs: number): Promise<number> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>(
      `select current_setting('server_version_num') as version`,
    );
    return Number(rows[0]?.version);
  } finally {
    // A server that does not answer would not answer the farewell either.
    client.end().catch(() => undefined);
  }
}

function hostName(url: string): string {
  const { host, searchParams } = new URL(url);
  return host || searchParams.get('host') || 'localhost';
}

function describeReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Of an address with several numbers Node tells each one's failure apart, without words for the whole.
  const [first = error] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : String(first);
}
