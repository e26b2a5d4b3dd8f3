import { readdir } from 'node:fs/promises';
import pg from 'pg';
import { OperatorError } from '../errors/operator-error.ts';
import { readSystemErrorCode } from '../errors/system-error-code.ts';
import { advisoryLocks } from './advisory-locks.ts';
import { type Database, migrationsFolder, openDatabase } from './database.ts';

/** Far longer than the timeout of a request, because a migration may rewrite a whole table. */
const TIMEOUT_MS = 600_000;

/** PostgreSQL's `undefined_table`. */
const UNDEFINED_TABLE = '42P01';

/** Applies the pending migrations and returns their names. Concurrent calls run one after the other. */
export async function migrate(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  // Without a listener, the `error` event would end the process. Running queries are rejected in any case.
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

/** Returns the names of the pending migrations. Unlike the migrator's own check, it does not create a table. */
export async function findPendingMigrations(database: Database): Promise<string[]> {
  const files = await readdir(migrationsFolder);
  const known = files.flatMap((file) => /^(Migration\w+)\.ts$/.exec(file)?.[1] ?? []);
  const applied = new Set(await findAppliedMigrations(database));
  return known.filter((name) => !applied.has(name)).sort();
}

/** @throws {OperatorError} if migrations are pending */
export async function requireMigrations(database: Database): Promise<void> {
  const pending = await findPendingMigrations(database);
  if (pending.length > 0) {
    throw new OperatorError(`The database lacks ${pending.join(', ')}. Run: npm run migrate`);
  }
}

async function findAppliedMigrations(database: Database): Promise<string[]> {
  try {
    const rows = await database.orm.em
      .getConnection()
      .execute<{ name: string }[]>('select name from mikro_orm_migrations');
    return rows.map(({ name }) => name);
  } catch (error) {
    if (readSystemErrorCode(error) === UNDEFINED_TABLE) return [];
    throw error;
  }
}
