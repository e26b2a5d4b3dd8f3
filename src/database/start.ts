import type { Config } from '../config.ts';
import { attachEmbeddedPostgres, type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';

/** The configured server, or the embedded one: started and owned, or for a command attached to. */
export async function startDatabaseServer(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  role: 'gateway' | 'command',
  notice: (line: string) => void,
): Promise<EmbeddedPostgres> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl !== null) return { url: databaseUrl, stop: async () => undefined };
  const start = role === 'gateway' ? startEmbeddedPostgres : attachEmbeddedPostgres;
  return start({ dataDir, notice });
}
