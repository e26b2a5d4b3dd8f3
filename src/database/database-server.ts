import { resolve } from 'node:path';
import pg from 'pg';
import type { Config } from '../config.ts';
import { OperatorError, readSystemErrorCode } from '../errors/failure.ts';
import { describeDatabase, toConnectionError } from './connection-failure.ts';
import { poolOptions } from './pool.ts';

/** PostgreSQL 14, in the format of `server_version_num`. */
const MIN_VERSION = 140_000;

/** A running PostgreSQL, embedded or external. */
export type DatabaseServer = {
  /** The URL of the gateway's database. */
  url: string;
  /** Resolves with the reason if the server exited and cannot be restarted. */
  lost: Promise<unknown>;
  /** If this process owns the server, stops it, which disconnects its clients. */
  stop(): Promise<void>;
};

/**
 * Whether a process must own the embedded server, or may use the server of a running gateway. With `existing`, it uses
 * an embedded database only if there is one.
 */
export type DatabaseUse = 'own' | 'shared' | 'existing';

/** The settings that determine the database. */
export type DatabaseSettings = Pick<Config, 'databaseUrl' | 'databaseTimeoutMs' | 'dataDir'>;

/**
 * Checks the server of `DATABASE_URL`, or starts the embedded server.
 * @throws {OperatorError} if it is unreachable or unsupported, or cannot be started
 */
export async function startDatabaseServer(
  { databaseUrl, databaseTimeoutMs, dataDir }: DatabaseSettings,
  use: DatabaseUse,
  printLine: (line: string) => void,
): Promise<DatabaseServer> {
  if (databaseUrl !== null) {
    await checkExternalPostgres(databaseUrl, databaseTimeoutMs);
    return { url: databaseUrl, lost: new Promise(() => undefined), stop: async () => undefined };
  }
  const embedded = await import('../../dev/postgres/embedded-postgres.ts').catch((error: unknown) => {
    if (readSystemErrorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new OperatorError('The embedded PostgreSQL is not installed. Set DATABASE_URL.', { cause: error });
  });
  if (use === 'existing' && !(await embedded.hasEmbeddedPostgres(dataDir))) {
    throw new OperatorError(
      `DATABASE_URL is not set, and ${resolve(dataDir)} has no embedded database. ` +
        'Run the command with the settings of the gateway.',
    );
  }
  const start = use === 'own' ? embedded.startEmbeddedPostgres : embedded.attachEmbeddedPostgres;
  return start({ dataDir, printLine });
}

/**
 * Connects once to the configured server, to report an unreachable or unsupported server at start.
 * @throws {OperatorError} if it is unreachable or unsupported; the message omits the password of the URL
 */
async function checkExternalPostgres(url: string, timeoutMs: number): Promise<void> {
  const version = await readServerVersion(url, timeoutMs).catch((error: unknown) => {
    throw toConnectionError(url, error);
  });
  if (version < MIN_VERSION) {
    throw new OperatorError(
      `PostgreSQL ${Math.floor(version / 10_000)} runs ${describeDatabase(url)}; version 14 or later is required. ` +
        'Upgrade it, or set DATABASE_URL to another server.',
    );
  }
}

/** Connects with the options of the pools, some of which a pooler may reject. */
async function readServerVersion(url: string, timeoutMs: number): Promise<number> {
  const client = new pg.Client({ ...poolOptions({ url, poolSize: 1, timeoutMs }), query_timeout: timeoutMs });
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
