import pg from 'pg';
import { type Database, openDatabase } from './database.ts';

/** Any number, the same in every gateway. */
const MIGRATION_LOCK = 7_204_982;

/** Migrations may take longer than any request. */
const TIMEOUT_MS = 600_000;

/** Applies the migrations that are missing and answers their names; of two at once the second waits. */
export async function migrate(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const database = await openDatabase({ url, poolSize: 1, timeoutMs: TIMEOUT_MS });
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await database.migrator.up();
    return applied.map(({ name }) => name);
  } finally {
    await database.close();
    await client.end();
  }
}

/** The names of the migrations that the database lacks. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  const pending = await database.migrator.getPending();
  return pending.map(({ name }) => name);
}
