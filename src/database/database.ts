import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { type InferKyselyDB, MikroORM } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import { entities } from '../entities.ts';
import { NamedColumns } from './named-columns.ts';
import { Pipeline } from './pipeline.ts';
import {
  createPoolMonitor,
  openPipelinedPool,
  type PoolOptions,
  poolOptions,
  readPoolOptions,
} from './pool.ts';

/** The folder of the migrations. Each file is named after its class. */
export const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url));

/** Opens a database. Connections are opened on demand, so this does not throw while PostgreSQL is unreachable. */
export async function openDatabase(options: PoolOptions) {
  const monitor = createPoolMonitor();
  const settings = poolOptions(options);
  const orm = await MikroORM.init({
    entities,
    extensions: [Migrator],
    dbName: decodeURIComponent(new URL(options.url).pathname.slice(1)),
    clientUrl: options.url,
    driverOptions: {
      ...settings,
      max: Math.ceil(options.poolSize / 2),
      onPoolCreated: (pool: Pool) => monitor.add('main', pool),
    },
    debug: false,
    migrations: {
      path: migrationsFolder,
      emit: 'ts',
      snapshot: false,
      glob: '!(*.d).ts',
      // Each migration has a transaction of its own, or none. In a shared one, an index cannot be built concurrently.
      allOrNothing: false,
    },
    // The default logger writes to standard output.
    logger: () => undefined,
  });
  const readSettings = readPoolOptions(options);
  const short = new Pipeline(readSettings);
  const long = new Pipeline(readSettings);
  const changes = openPipelinedPool(options);
  monitor.add('short_reads', short.pool);
  monitor.add('long_reads', long.pool);
  monitor.add('changes', changes);
  resources.set(orm.getMetadata(), { short, long, changes, columns: new NamedColumns(orm.em, naming) });
  return {
    orm,
    /**
     * The global entity manager. All requests use it, because no entity is loaded into it and MikroORM begins no
     * transaction.
     */
    em: orm.em,
    /** The URL that the database was opened with. */
    url: options.url,
    /** The connections of each pool by state. */
    pools: monitor.states,
    /** Breaks the connections that run queries, so that closing does not wait for them. */
    abandonQueries: monitor.breakActive,
    /** Closes each connection once no query runs on it. */
    async close() {
      await Promise.all([orm.close(), changes.end(), short.pool.end(), long.pool.end()]);
    },
  };
}

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/** Access to the database, for queries and changes. */
export type EntityManager = Database['em'];

const naming = {
  tableNamingStrategy: 'entity',
  columnNamingStrategy: 'property',
  convertValues: true,
} as const;

/** The tables and columns that queries use, named after entities and properties. */
export type Tables = InferKyselyDB<(typeof entities)[number], typeof naming>;

/**
 * Returns a query builder that uses the names of entities and properties. Retention and key rotation also begin their
 * transactions with it: a transaction of MikroORM would never release its connection if the connection broke before
 * `begin` or `rollback` completed. Requests use `change` for their transactions.
 */
export function query(em: EntityManager): Kysely<Tables> {
  return em.getKysely<Tables>().withPlugin(getResources(em).columns);
}

/**
 * What all entity managers of a database share: the names of its columns, and its connections. Short reads wait neither
 * for changes nor for long reads. The number of connections for long reads limits how many long lists are read at once.
 */
type Resources = { columns: NamedColumns; short: Pipeline; long: Pipeline; changes: Pool };

/** By metadata, which is all that a fork of an entity manager shares with the original. */
const resources = new WeakMap<object, Resources>();

/** Returns the resources of an entity manager's database. */
export function getResources(em: EntityManager): Resources {
  const found = resources.get(em.getMetadata());
  if (found === undefined) throw new Error('The database was not opened by `openDatabase`.');
  return found;
}
