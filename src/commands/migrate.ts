import { readConfig } from '../config.ts';
import { migrate } from '../database/migrate.ts';
import { startDatabaseServer } from '../postgres/start-postgres.ts';
import { runCommand, say } from './run.ts';

/** Applies the migrations that the database lacks. */
runCommand('npm run migrate', async () => {
  const server = await startDatabaseServer(readConfig(), 'command', say);
  try {
    const applied = await migrate(server.url);
    for (const name of applied) say(`Applied ${name}`);
    if (applied.length === 0) say('The database is up to date.');
  } finally {
    await server.stop();
  }
});
