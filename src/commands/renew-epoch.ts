import { readConfig } from '../config.ts';
import { openDatabase } from '../database/database.ts';
import { startDatabaseServer } from '../database/database-server.ts';
import { requireSchema } from '../database/schema-compatibility.ts';
import { renewEpoch } from '../revisions/database-epoch.ts';
import { printLine, runCommand } from './run-command.ts';

/** Invalidates entity tags and event cursors. Run it after a restore, which lacks changes that clients have seen. */
runCommand('npm run -s epoch:renew', async () => {
  const config = readConfig();
  const server = await startDatabaseServer(config, 'shared', printLine);
  const database = await openDatabase({ url: server.url, poolSize: 1, timeoutMs: config.databaseTimeoutMs });
  try {
    await requireSchema(database);
    await renewEpoch(database.fork());
    printLine('All earlier entity tags and event cursors are now invalid.');
  } finally {
    await database.close();
    await server.stop();
  }
});
