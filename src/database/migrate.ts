import { readdir } from 'node:fs/promises';
import pg from 'pg';
import { OperatorError } from '../errors/operator-error.ts';
import { errorCode } from '../postgres/embedded-postgres-error.ts';
import { advisoryLocks } from './advisory-locks.ts';
import { type Database, migrationsFolder, openDatabase } from './database.ts';

/** Migrations may take longer than any request. */
const TIMEOUT_MS = 600_000;

/** PostgreSQL's `undefined_table`. */
const UNDEFINED_TABLE = '42P01';

/** Applies the migrations that are missing and answers their names; of two at once the second waits. */
export async function migrate(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  // A connection that breaks fails its query; unheard, the event would end the process.
  client.on('error', () => undefined);
  await client.connect();
  const database = await openDatabase({ url, poolSize: 1, timeoutMs: TIMEOUT_MS });
  try {
    await client.query('select pg_advisory_lock($1)', [advisoryLocks.migrations]);
    const applied = await database.orm.migrator.up();
    return applied.map(({ name }) => name);
  } finally {
    await database.close();
    await client.end();
  }
}

/** The names of the migrations that the database lacks. Only reads: the migrator itself would make its table. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  const files = await readdir(migrationsFolder);
  const known = files.flatMap((file) => /^(Migration\w+)\.ts$/.exec(file)?.[1] ?? []);
  const applied = new Set(await appliedMigrations(database));
  return known.filter((name) => !applied.has(name)).sort();
}

/** @throws {OperatorError} where the database lacks migrations */
export async function requireMigrations(database: Database): Promise<void> {
  const pending = await pendingMigrations(database);
  if (pending.length > 0) {
    throw new OperatorError(`The database lacks ${pending.join(', ')}. Run: npm run migrate`);
  }
}

async function appliedMigrations(database: Database): Promise<string[]> {
  try {
    const rows = await database.em
      .getConnection()
      .execute<{ name: string }[]>('select name from mikro_orm_migrations');
    return rows.map(({ name }) => name);
  } catch (error) {
    if (errorCode(error) === UNDEFINED_TABLE) return [];
    throw error;
  }
}
