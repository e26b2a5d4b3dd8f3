import { borrowServer, type DatabaseServer } from './database-server.ts';
import { openCluster, removeLeftovers } from './embedded-cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { formatConnectionUrl, openSession } from './embedded-session.ts';
import { ownServer } from './own-server.ts';

/** The directory of the files, and a function that prints messages for the operator. */
export type EmbeddedPostgresOptions = { dataDir: string; printLine(line: string): void };

/** Maximum time until PostgreSQL releases the lock of a killed owner. */
const KILLED_OWNER_MS = 1_000;

/**
 * Starts the server, or takes over a server whose owner was killed. Restarts it if it exits unexpectedly.
 * @throws {EmbeddedPostgresError} if another gateway owns it, or PostgreSQL cannot start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<DatabaseServer> {
  const cluster = await openCluster(options.dataDir);
  const session = await openSession(cluster, options.printLine, KILLED_OWNER_MS);
  if (session.owns) {
    await removeLeftovers(cluster);
    return ownServer(cluster, session, options.printLine);
  }
  await session.client.end();
  throw new EmbeddedPostgresError(
    `A gateway or command is already using the data directory ${cluster.dataDir} ` +
      `(PostgreSQL process ${session.postmaster.pid}). ` +
      'Stop that gateway or command, or set DATA_DIR to another directory, or set DATABASE_URL.',
  );
}

/**
 * Connects a command to the server of a running gateway, or else starts a server that runs until the command ends.
 * @throws {EmbeddedPostgresError} if PostgreSQL cannot start
 */
export async function attachEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<DatabaseServer> {
  const cluster = await openCluster(options.dataDir);
  const session = await openSession(cluster, options.printLine, 0);
  if (session.owns) return ownServer(cluster, session, options.printLine);
  await session.client.end();
  return borrowServer(formatConnectionUrl(cluster, session.postmaster));
}
