import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { entities } from './entities.ts';

/** How to reach the database: an address, connections at most, and milliseconds for each wait. */
export type DatabaseOptions = { url: string; poolSize: number; timeoutMs: number };

/** Opens the pool. Connections are made when they are needed, so a database that is away does not throw here. */
export async function openDatabase(options: DatabaseOptions) {
  return MikroORM.init({
    entities,
    extensions: [Migrator],
    dbName: new URL(options.url).pathname.slice(1),
    clientUrl: options.url,
    pool: { min: 0, max: options.poolSize },
    driverOptions: {
      connectionString: options.url,
      connectionTimeoutMillis: options.timeoutMs,
      statement_timeout: options.timeoutMs,
      lock_timeout: options.timeoutMs,
      // A server that no longer answers at all is given up a little later than one that does.
      query_timeout: options.timeoutMs + 1000,
      idle_in_transaction_session_timeout: options.timeoutMs,
      keepAlive: true,
    },
    debug: false,
    migrations: {
      path: fileURLToPath(new URL('migrations', import.meta.url)),
      emit: 'ts',
      snapshot: false,
      glob: '!(*.d).ts',
    },
    // Without a logger of its own the library prints.
    logger: () => undefined,
  });
}

export type Database = Awaited<ReturnType<typeof openDatabase>>;
/** A unit of work of one request; forked, never shared. */
export type EntityManager = Database['em'];

/** Queries with entities as tables and their properties as columns, inside the manager's transaction if it has one. */
export function query(em: EntityManager) {
  return em.getKysely({
    tableNamingStrategy: 'entity',
    columnNamingStrategy: 'property',
    convertValues: true,
  });
}
