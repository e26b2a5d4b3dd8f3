import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { type Database, migrationsFolder, openDatabase } from '../database/database.ts';
import { startDatabaseServer } from '../database/database-server.ts';
import { requireSchema } from '../database/schema-compatibility.ts';
import { findUnsafeStatements } from '../database/unsafe-statements.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { printLine, runCommand, UsageError } from './run-command.ts';

/** Writes a migration from the difference between the database and the entities. Does not change the database. */
runCommand('npm run -s migration -- NAME', async () => {
  const [name, ...others] = parseArgs({ allowPositionals: true }).positionals;
  if (name === undefined || others.length > 0 || !/^[a-z][a-z\d_]*$/.test(name)) {
    throw new UsageError(
      'NAME must describe the change in lower-case letters, digits and underscores: add_favorites',
    );
  }
  const config = readConfig();
  const server = await startDatabaseServer(config, 'shared', printLine);
  const database = await openDatabase({ url: server.url, poolSize: 1, timeoutMs: config.databaseTimeoutMs });
  try {
    await write(database, name);
  } finally {
    await database.close();
    await server.stop();
  }
});

async function write(database: Database, name: string): Promise<void> {
  await requireSchema(database);
  const { fileName, diff } = await database.orm.migrator.create(undefined, false, false, name);
  if (diff.up.length === 0)
    throw new OperatorError('The database already matches the entities; there is nothing to migrate.');
  printLine(`Wrote ${relative('.', migrationsFolder)}/${fileName}. Review it, then run: npm run migrate`);
  for (const { statement, rule } of findUnsafeStatements(diff.up, fileName)) {
    printLine(`\nUnsafe while the table is in use: ${statement}\n${rule.reason}\nInstead: ${rule.instead}`);
  }
}
