import type { Config } from '../config.ts';
import { borrowServer, type DatabaseServer } from './database-server.ts';
import { attachEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { checkExternalPostgres } from './external-postgres.ts';

/** Whether a process must own the embedded server, or may use the server of a running gateway. */
export type DatabaseUse = 'own' | 'shared';

/** Checks the configured server, or starts the embedded server. */
export async function startDatabaseServer(
  config: Pick<Config, 'databaseUrl' | 'databaseTimeoutMs' | 'dataDir'>,
  use: DatabaseUse,
  printLine: (line: string) => void,
): Promise<DatabaseServer> {
  const { databaseUrl, databaseTimeoutMs, dataDir } = config;
  if (databaseUrl !== null) {
    await checkExternalPostgres(databaseUrl, databaseTimeoutMs);
    return borrowServer(databaseUrl);
  }
  const start = use === 'own' ? startEmbeddedPostgres : attachEmbeddedPostgres;
  return start({ dataDir, printLine });
}
