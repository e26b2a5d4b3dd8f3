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

/** One real PostgreSQL for the whole run, with a migrated database that test files clone. */
export default async function setup(project: TestProject) {
  const dataDir = await makeFolder();
  const postgres = await startEmbeddedPostgres({ dataDir, notice: () => undefined });
  const template = new URL(postgres.url);
  template.pathname = '/template_gateway';
  await run(postgres.url, 'create database template_gateway');
  await migrate(template.href);
  await run(postgres.url, 'alter database template_gateway with is_template true allow_connections false');
  project.provide('postgresUrl', postgres.url);
  return async () => {
    await postgres.stop();
    await removeFolder(dataDir);
  };
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
