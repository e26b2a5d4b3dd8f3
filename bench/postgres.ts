import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../dev/postgres/embedded-postgres.ts';
import { migrate } from '../src/database/migrate.ts';
import { reportProgress } from './output.ts';
import { readFamilyTime, readStat } from './processor-time.ts';

/** A PostgreSQL in a temporary folder. */
export type Postgres = {
  /** Creates, migrates and fills a database, and returns its URL. */
  createDatabase(name: string, fill: (client: pg.Client) => Promise<void>): Promise<string>;
  /** Returns the processor time of all its processes in milliseconds. */
  processorTime(): Promise<number>;
  stop(): Promise<void>;
};

/** Starts the embedded PostgreSQL of the gateway. */
export async function startPostgres(): Promise<Postgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  // As root, PostgreSQL runs as another account, which must be able to enter.
  await chmod(dataDir, 0o755);
  const server = await startEmbeddedPostgres({ dataDir, printLine: reportProgress });
  const postmaster = await withClient(server.url, findPostmaster);
  return {
    processorTime: () => readFamilyTime(postmaster),
    async createDatabase(name, fill) {
      await withClient(server.url, (client) => client.query(`create database ${name}`));
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      await migrate(url.href);
      await withClient(url.href, fill);
      return url.href;
    },
    async stop() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Finds the parent of all connection processes. */
async function findPostmaster(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return (await readStat(rows[0]?.pid ?? Number.NaN)).parent;
}

/** Runs `work` with a connection. */
export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
