import type pg from 'pg';
import type { Callers } from './callers.ts';
import type { Issuer } from './issuer.ts';
import type { Load } from './load.ts';
import type { Options } from './options.ts';
import type { Postgres } from './postgres.ts';

/** What all parts of the bench work with. */
export type Bench = {
  options: Options;
  postgres: Postgres;
  issuer: Issuer;
  load: Load;
  /** The database of the data set, and a connection to it beside all servers. */
  databaseUrl: string;
  client: pg.Client;
  callers: Callers;
};

/** Gives a server to some work and stops it afterwards, whatever comes of it. */
export async function during<Server extends { stop(): Promise<void> }, Result>(
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
