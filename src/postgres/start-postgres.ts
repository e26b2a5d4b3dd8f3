import type { Config } from '../config.ts';
import { borrowServer, type EmbeddedPostgres } from './embedded-owner.ts';
import { attachEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { checkExternalPostgres } from './external-postgres.ts';

/** Checks the configured server, or starts the embedded one. A command uses that of a running gateway. */
export async function startDatabaseServer(
  config: Pick<Config, 'databaseUrl' | 'databaseTimeoutMs' | 'dataDir'>,
  role: 'gateway' | 'command',
  report: (line: string) => void,
): Promise<EmbeddedPostgres> {
  const { databaseUrl, databaseTimeoutMs, dataDir } = config;
  if (databaseUrl !== null) {
    await checkExternalPostgres(databaseUrl, databaseTimeoutMs);
    return borrowServer(databaseUrl);
  }
  const start = role === 'gateway' ? startEmbeddedPostgres : attachEmbeddedPostgres;
  return start({ dataDir, report });
}
