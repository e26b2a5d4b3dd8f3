import type pg from 'pg';
import type { Callers } from './callers.ts';
import type { Issuer } from './issuer.ts';
import type { Load } from './load.ts';
import type { Options } from './options.ts';
import type { Postgres } from './postgres.ts';

/** The dependencies of all benchmarks. */
export type Bench = {
  options: Options;
  postgres: Postgres;
  issuer: Issuer;
  load: Load;
  /** The database of the data set. */
  databaseUrl: string;
  client: pg.Client;
  callers: Callers;
};

/** Runs `work` with a server, then stops the server, even after a failure. */
export async function withServer<Server extends { stop(): Promise<void> }, Result>(
  starting: Promise<Server>,
  work: (server: Server) => Promise<Result>,
): Promise<Result> {
  const server = await starting;
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}
