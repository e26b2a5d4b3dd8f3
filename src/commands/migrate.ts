import { readConfig } from '../config.ts';
import { migrate } from '../database/migrate.ts';
import { printLine, runCommand } from './run-command.ts';
import { useDatabaseServer } from './use-database.ts';

/** Applies pending migrations. */
runCommand('npm run migrate', {}, () =>
  useDatabaseServer(readConfig(), 'shared', async (url) => {
    const applied = await migrate(url, { printLine });
    if (applied.length === 0) printLine('The database is up to date.');
  }),
);
