import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

/** A migrated, empty database of a test file's own. */
export type TestDatabase = {
  url: string;
  /** Runs SQL beside the gateway. */
  sql(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
};

/** Clones the migrated template. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase('template_gateway');
}

/** A database without any table. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('template0');
}

/** How many sessions of a database wait for a lock. */
export async function waitingSessions({ sql }: Pick<TestDatabase, 'sql'>): Promise<number> {
  const rows = await sql(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length;
}

/** A database that exists already, and is not dropped; every statement has a connection of its own. */
export function existingDatabase(url: string): TestDatabase {
  return { url, sql: (text, values) => once(url, text, values), drop: async () => undefined };
}

/** Connections of this worker to the server itself. */
let server: pg.Pool | undefined;

async function createDatabase(template: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(inject('postgresUrl'));
  server ??= openPool(url);
  // Without fsync, copying files costs less than logging them.
  await server.query(`create database ${name} template ${template} strategy file_copy`);
  url.pathname = `/${name}`;
  const pool = openPool(url);
  return {
    url: url.href,
    sql: async (text, values = []) => (await pool.query<Record<string, unknown>>(text, [...values])).rows,
    async drop() {
      await pool.end();
      await server?.query(`drop database if exists ${name} with (force)`);
    },
  };
}

/** Connections are kept, for one costs as much as ten statements; none keeps a worker alive. */
function openPool({ href }: URL): pg.Pool {
  const pool = new pg.Pool({ connectionString: href, allowExitOnIdle: true });
  // A test may have ended a session that is not in use.
  return pool.on('error', () => undefined);
}

async function once(url: string, text: string, values: readonly unknown[] = []) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
    return rows;
  } finally {
    await client.end();
  }
}
