import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { startEmbeddedPostgres } from '../dev/postgres/embedded-postgres.ts';
import { makeFolder, readProcessorTime } from './server.ts';

/** A PostgreSQL in a temporary folder. */
export type Postgres = Awaited<ReturnType<typeof startPostgres>>;

/** Starts the embedded PostgreSQL of the gateway, without autovacuum. */
export async function startPostgres() {
  const dataDir = await makeFolder();
  const server = await startEmbeddedPostgres({ dataDir, printLine: () => undefined });
  const main = new pg.Client({ connectionString: server.url });
  const clients = [main];
  await main.connect();
  await main.query('alter system set autovacuum = off');
  await main.query('select pg_reload_conf()');
  const { rows } = await main.query(
    `select pg_backend_pid() as pid, current_setting('server_version') as version`,
  );
  // The second value is a name that ends with the last `)`; the fourth is the parent.
  const stat = await readFile(`/proc/${rows[0].pid}/stat`, 'utf8');
  const postmaster = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  /** The last known time of each process, also of those that have exited. */
  const times = new Map<number, number>();
  return {
    version: String(rows[0].version),
    /** Creates a database with the migrations of a checkout, and returns its URL. */
    async createDatabase(name: string, checkout: string): Promise<string> {
      await main.query(`create database ${name}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      await promisify(execFile)(process.execPath, ['src/commands/migrate.ts'], {
        cwd: checkout,
        env: { PATH: process.env.PATH, DATABASE_URL: url.href },
      });
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
      clients.push(client);
      return url.href;
    },
    /** Cleans up, so that PostgreSQL does not do so during a measurement. */
    async vacuum() {
      for (const client of clients) await client.query('vacuum');
      await main.query('checkpoint');
    },
    /** Returns the processor time of all its processes in milliseconds. */
    async processorTime(): Promise<number> {
      const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8');
      for (const pid of [postmaster, ...children.trim().split(' ').map(Number)])
        times.set(pid, Math.max(times.get(pid) ?? 0, await readProcessorTime(pid)));
      return times.values().reduce((sum, time) => sum + time, 0);
    },
    async stop() {
      for (const client of clients) await client.end();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
