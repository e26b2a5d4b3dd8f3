import { statfs } from 'node:fs/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/database/migrate.ts';
import { startEmbeddedPostgres } from '../../src/postgres/embedded-postgres.ts';
import { makeFolder, removeFolder } from './folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the PostgreSQL that all test files share, without a database. */
    postgresUrl: string;
  }
}

/** Linux's file system in memory. */
const MEMORY = '/dev/shm';
const NEEDED_BYTES = 4 * 1024 ** 3;

/** Nothing of this PostgreSQL has to survive a crash, and every table that needs statistics is analyzed by its test. */
const settings = ['fsync = off', 'full_page_writes = off', "max_wal_size = '4GB'", 'autovacuum = off'];

/** One real PostgreSQL for the whole run, with a migrated database that test files clone. */
export default async function setup(project: TestProject) {
  const dataDir = await makeFolder((await hasMemory()) ? MEMORY : undefined);
  const postgres = await startEmbeddedPostgres({ dataDir, notice: () => undefined });
  const template = new URL(postgres.url);
  template.pathname = '/template_gateway';
  await run(postgres.url, ...settings.map((setting) => `alter system set ${setting}`));
  await run(postgres.url, 'select pg_reload_conf()', 'create database template_gateway');
  await migrate(template.href);
  await run(postgres.url, 'alter database template_gateway with is_template true allow_connections false');
  project.provide('postgresUrl', postgres.url);
  return async () => {
    await postgres.stop();
    await removeFolder(dataDir);
  };
}

/** Creating and dropping databases costs less there: each has 300 files. */
async function hasMemory(): Promise<boolean> {
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return free >= NEEDED_BYTES;
}

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}
