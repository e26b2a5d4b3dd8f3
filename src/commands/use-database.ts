import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { describeConnectionFailure, describeDatabase } from '../database/connection-failure.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { type DatabaseUse, startDatabaseServer } from '../database/database-server.ts';
import { requireSchema } from '../database/schema-compatibility.ts';
import { printLine } from './run-command.ts';

/**
 * Prints which database a command acts on, and runs it with the URL of that database. Without DATABASE_URL, starts the
 * embedded server while the command runs, unless a gateway runs it.
 * @throws {OperatorError} if the database cannot be used
 */
export async function useDatabaseServer(
  config: Config,
  use: DatabaseUse,
  command: (url: string) => Promise<void>,
): Promise<void> {
  const { databaseUrl, dataDir } = config;
  // The embedded database is named before it is created.
  const name =
    databaseUrl === null ? `the embedded database in ${resolve(dataDir)}` : describeDatabase(databaseUrl);
  printLine(`Using ${name}.`);
  const server = await startDatabaseServer(config, use, printLine);
  try {
    await command(server.url);
  } catch (error) {
    throw describeConnectionFailure(server.url, error) ?? error;
  } finally {
    await server.stop();
  }
}

/** Like {@link useDatabaseServer}, with the open database, which must have every migration and is never created. */
export async function useMigratedDatabase(
  config: Config,
  command: (database: Database) => Promise<void>,
): Promise<void> {
  await useDatabaseServer(config, 'existing', async (url) => {
    const database = await openDatabase({ url, poolSize: 1, timeoutMs: config.databaseTimeoutMs });
    try {
      await requireSchema(database);
      await command(database);
    } finally {
      await database.close();
    }
  });
}
