import pg from 'pg';
import { OperatorError } from '../errors/operator-error.ts';

/** PostgreSQL 14, in the format of `server_version_num`. */
const MIN_VERSION = 140_000;

/**
 * Connects once to the configured server, to report an unreachable or unsupported server at start.
 * @throws {OperatorError} if it is unreachable or unsupported; the message omits the password of the URL
 */
export async function checkExternalPostgres(url: string, timeoutMs: number): Promise<void> {
  const version = await readServerVersion(url, timeoutMs).catch((error: unknown) => {
    throw new OperatorError(
      `Connecting to the database at ${parseHost(url)} failed: ${describeReason(error)}. ` +
        'Check that PostgreSQL is running there and accepts connections, or correct DATABASE_URL.',
      { cause: error },
    );
  });
  if (version < MIN_VERSION) {
    throw new OperatorError(
      `The database at ${parseHost(url)} is PostgreSQL ${Math.floor(version / 10_000)}; version 14 or later is required. ` +
        'Upgrade it, or set DATABASE_URL to another server.',
    );
  }
}

async function readServerVersion(url: string, timeoutMs: number): Promise<number> {
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
    // Not awaited: an unresponsive server does not respond to this either.
    client.end().catch(() => undefined);
  }
}

function parseHost(url: string): string {
  const { host, searchParams } = new URL(url);
  return host || searchParams.get('host') || 'localhost';
}

function describeReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node.js reports failed connections to a host with several addresses as an `AggregateError` without a message.
  const [first = error] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : String(first);
}
