import { readConfig } from '../config.ts';
import { openDatabase } from '../database/database.ts';
import { requireMigrations } from '../database/migrate.ts';
import { startDatabaseServer } from '../postgres/start-postgres.ts';
import { renewEpoch } from '../revisions/database-epoch.ts';
import { runCommand, say } from './run.ts';

/** Run after a restore: clients may hold entity tags and cursors of changes that the backup does not have. */
runCommand('npm run -s epoch:renew', async () => {
  const config = readConfig();
  const server = await startDatabaseServer(config, 'command', say);
  const database = await openDatabase({ url: server.url, poolSize: 1, timeoutMs: config.databaseTimeoutMs });
  try {
    await requireMigrations(database);
    await renewEpoch(database.em.fork());
    say('Entity tags and cursors from before are no longer valid.');
  } finally {
    await database.close();
    await server.stop();
  }
});
