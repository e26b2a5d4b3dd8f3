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

/** A database that stands elsewhere and stays there. */
export function existingDatabase(url: string): TestDatabase {
  return { url, sql: (text, values) => once(url, text, values), drop: async () => undefined };
}

async function createDatabase(template: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const server = inject('postgresUrl');
  await once(server, `create database ${name} template ${template} strategy file_copy`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    sql: (text, values) => once(url.href, text, values),
    drop: async () => void (await once(server, `drop database if exists ${name} with (force)`)),
  };
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
