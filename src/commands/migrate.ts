import { readConfig } from '../config.ts';
import { startDatabaseServer } from '../database/database-server.ts';
import { migrate } from '../database/migrate.ts';
import { printLine, runCommand } from './run-command.ts';

/** Applies pending migrations. */
runCommand('npm run migrate', async () => {
  const server = await startDatabaseServer(readConfig(), 'shared', printLine);
  try {
    const applied = await migrate(server.url, { printLine });
    if (applied.length === 0) printLine('The database is up to date.');
  } finally {
    await server.stop();
  }
});
