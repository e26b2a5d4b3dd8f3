import { openCluster, removeLeftovers } from './embedded-cluster.ts';
import { borrowServer, type EmbeddedPostgres, ownServer } from './embedded-owner.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { connectionUrl, openSession } from './embedded-session.ts';

export type { EmbeddedPostgres } from './embedded-owner.ts';
export { EmbeddedPostgresError } from './embedded-postgres-error.ts';

/** Where the files lie, and what receives lines for the operator. */
export type EmbeddedPostgresOptions = { dataDir: string; notice(line: string): void };

/** The time PostgreSQL may take to notice that an owner was killed. */
const KILLED_OWNER_MS = 1_000;

/**
 * Starts the server and owns it: one that ends unexpectedly is started again. A server whose owner was killed is taken
 * over.
 *
 * @throws EmbeddedPostgresError when another gateway owns it, or when PostgreSQL cannot start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(options.dataDir);
  const session = await openSession(cluster, options.notice, KILLED_OWNER_MS);
  if (session.owns) {
    await removeLeftovers(cluster);
    return ownServer(cluster, session, options.notice);
  }
  await session.client.end();
  throw new EmbeddedPostgresError(
    `A gateway is already running on the data directory ${cluster.dataDir} ` +
      `(PostgreSQL process ${session.postmaster.pid}). ` +
      'Stop it first, or give this one its own DATA_DIR or DATABASE_URL.',
  );
}

/**
 * For commands: the server that a gateway owns, which stays up, or else one for the time being.
 *
 * @throws EmbeddedPostgresError when PostgreSQL cannot start.
 */
export async function attachEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(options.dataDir);
  const session = await openSession(cluster, options.notice, 0);
  if (session.owns) return ownServer(cluster, session, options.notice);
  await session.client.end();
  return borrowServer(connectionUrl(cluster, session.postmaster));
}
