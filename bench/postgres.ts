import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../src/database/migrate.ts';
import { startEmbeddedPostgres } from '../src/postgres/embedded-postgres.ts';
import { familyTime, readStat } from './processor-time.ts';
import { tell } from './say.ts';

/** A PostgreSQL of the bench's own, in a folder of its own. */
export type Postgres = {
  /** Makes a migrated database, fills it and answers its address. */
  createDatabase(name: string, fill: (client: pg.Client) => Promise<void>): Promise<string>;
  /** Processor time that all its processes have used so far, in milliseconds. */
  processorTime(): Promise<number>;
  stop(): Promise<void>;
};

/** Starts the PostgreSQL that the gateway would start by itself. */
export async function startPostgres(): Promise<Postgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  // PostgreSQL does not run as root and enters by another account.
  await chmod(dataDir, 0o755);
  const server = await startEmbeddedPostgres({ dataDir, report: tell });
  const postmaster = await withClient(server.url, postmasterOf);
  return {
    processorTime: () => familyTime(postmaster),
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

/** The process that starts those of all connections. */
async function postmasterOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return (await readStat(rows[0]?.pid ?? Number.NaN)).parent;
}

/** Connects for as long as some work takes. */
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
