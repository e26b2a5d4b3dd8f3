import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { openCluster } from '../../dev/postgres/cluster.ts';
import { startEmbeddedPostgres } from '../../dev/postgres/embedded-postgres.ts';
import { migrate } from '../../src/database/migrate.ts';
import { copyFolder, makeFolder, removeFolder } from './folder.ts';
import { bundlePrograms, compileCache } from './process.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the PostgreSQL server that all test files share, without a database. */
    postgresUrl: string;
    /** Path of an initialized cluster that no server uses. */
    cluster: string;
  }
}

/** The data need not survive a crash, and tests that need statistics analyze their tables. */
const settings = ['fsync = off', 'full_page_writes = off', "max_wal_size = '4GB'", 'autovacuum = off'];

/**
 * Passwords are verified only for the database `gateway`, because some tests use a wrong one. Verifying takes 2 ms, and
 * the tests open about 2,000 connections.
 */
const ACCESS = 'host gateway all all scram-sha-256\nhost all all all trust\n';

/**
 * Node.js never deletes from its compile cache. A first run writes about 6,500 files, and every further run about 200,
 * because Vitest loads test files under unique URLs.
 */
const MAX_CACHED_FILES = 20_000;

/** Starts one real PostgreSQL for the whole run, with a migrated template database. */
export default async function setup(project: TestProject) {
  await limitCompileCache();
  const bundled = bundlePrograms();
  project.onTestsRerun(bundlePrograms);
  const folder = await makeFolder();
  const dataDir = join(folder, 'data');
  await openCluster(dataDir);
  const cluster = join(folder, 'unused');
  await copyFolder(join(dataDir, 'postgresql'), cluster);
  await writeFile(join(dataDir, 'postgresql/cluster/pg_hba.conf'), ACCESS);
  const postgres = await startEmbeddedPostgres({ dataDir, printLine: () => undefined });
  const template = new URL(postgres.url);
  template.pathname = '/template_gateway';
  await run(postgres.url, ...settings.map((setting) => `alter system set ${setting}`));
  await run(postgres.url, 'select pg_reload_conf()', 'create database template_gateway');
  await migrate(template.href);
  // Tests of the statistics call `updateStatistics`. In all others, no count adds statements of its own.
  await run(template.href, `update statistics set due_at = '9999-01-01'`);
  await run(postgres.url, 'alter database template_gateway with is_template true allow_connections false');
  project.provide('postgresUrl', postgres.url);
  project.provide('cluster', cluster);
  await bundled;
  return async () => {
    await postgres.stop();
    await removeFolder(folder);
  };
}

async function limitCompileCache(): Promise<void> {
  const files = await readdir(compileCache, { recursive: true }).catch(() => []);
  if (files.length > MAX_CACHED_FILES) await removeFolder(compileCache);
}

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}
