import type { Config } from '../config.ts';
import { borrowServer, type EmbeddedPostgres } from './embedded-owner.ts';
import { attachEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { checkExternalPostgres } from './external-postgres.ts';

/** The configured server, once it answers, or the embedded one: started and owned, or for a command attached to. */
export async function startDatabaseServer(
  config: Pick<Config, 'databaseUrl' | 'databaseTimeoutMs' | 'dataDir'>,
  role: 'gateway' | 'command',
  notice: (line: string) => void,
): Promise<EmbeddedPostgres> {
  const { databaseUrl, databaseTimeoutMs, dataDir } = config;
  if (databaseUrl !== null) {
    await checkExternalPostgres(databaseUrl, databaseTimeoutMs);
    return borrowServer(databaseUrl);
  }
  const start = role === 'gateway' ? startEmbeddedPostgres : attachEmbeddedPostgres;
  return start({ dataDir, notice });
}
