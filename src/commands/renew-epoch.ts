import { readConfig } from '../config.ts';
import { renewEpoch } from '../revisions/database-epoch.ts';
import { printLine, runCommand } from './run-command.ts';
import { useMigratedDatabase } from './use-database.ts';

/** Invalidates entity tags and event cursors. Run it after a restore, which lacks changes that clients have seen. */
runCommand('npm run -s epoch:renew', {}, () =>
  useMigratedDatabase(readConfig(), async (database) => {
    await renewEpoch(database.fork());
    printLine('All earlier entity tags and event cursors are now invalid.');
  }),
);
