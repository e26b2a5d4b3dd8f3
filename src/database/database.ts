import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { type InferKyselyDB, MikroORM } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import { entities } from '../entities.ts';
import { NamedColumns } from './named-columns.ts';
import { Pipeline } from './pipeline.ts';
import { openPipelinedPool, type PoolOptions, poolOptions, readPoolOptions, watchPools } from './pool.ts';

/** The folder of the migrations. Each file is named after its class. */
export const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url));

/** Opens the pools. Connections are opened on demand, so this does not throw while PostgreSQL is unreachable. */
export async function openDatabase(options: PoolOptions) {
  const pools = watchPools();
  const settings = poolOptions(options);
  const orm = await MikroORM.init({
    entities,
    extensions: [Migrator],
    dbName: decodeURIComponent(new URL(options.url).pathname.slice(1)),
    clientUrl: options.url,
    driverOptions: {
      ...settings,
      max: Math.ceil(options.poolSize / 2),
      onPoolCreated: (pool: Pool) => pools.begin('main', pool),
    },
    debug: false,
    migrations: {
      path: migrationsFolder,
      emit: 'ts',
      snapshot: false,
      glob: '!(*.d).ts',
    },
    // The default logger writes to standard output.
    logger: () => undefined,
  });
  const readSettings = readPoolOptions(options);
  const reads = { short: new Pipeline(readSettings), long: new Pipeline(readSettings) };
  pools.begin('short_reads', reads.short.pool);
  pools.begin('long_reads', reads.long.pool);
  pipelines.set(orm.getMetadata(), reads);
  const forChanges = openPipelinedPool(options);
  pools.begin('changes', forChanges);
  changes.set(orm.getMetadata(), forChanges);
  return {
    orm,
    em: orm.em,
    /** The URL that the database was opened with. */
    url: options.url,
    /** The connections of each pool by state. */
    pools: pools.states,
    /** Breaks the connections that run queries, so that closing does not wait for them. */
    abandonQueries: pools.breakUsed,
    /** Closes each connection once no query runs on it. */
    async close() {
      await Promise.all([orm.close(), forChanges.end(), reads.short.pool.end(), reads.long.pool.end()]);
    },
  };
}

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/** What queries and changes go through. */
export type EntityManager = Database['em'];

const naming = {
  tableNamingStrategy: 'entity',
  columnNamingStrategy: 'property',
  convertValues: true,
} as const;

/** The entities as tables and their properties as columns. */
export type Tables = InferKyselyDB<(typeof entities)[number], typeof naming>;

/**
 * Queries with entities as tables and their properties as columns. Transactions are Kysely's: MikroORM's do not release
 * a connection that breaks before they can begin or be rolled back.
 */
export function query(em: EntityManager): Kysely<Tables> {
  return em.getKysely<Tables>().withPlugin(getColumns(em));
}

/**
 * The pipelines for reads, shared by all entity managers of a database. Short reads wait neither for changes nor for
 * long reads. The connections for long reads limit how many long lists are in memory at once.
 */
export function getPipelines(em: EntityManager): Pipelines {
  const found = pipelines.get(em.getMetadata());
  if (found === undefined) throw new Error('The database was not opened by `openDatabase`.');
  return found;
}

/** The pool for changes, shared by all entity managers of a database. */
export function getChangePool(em: EntityManager): Pool {
  const found = changes.get(em.getMetadata());
  if (found === undefined) throw new Error('The database was not opened by `openDatabase`.');
  return found;
}

const changes = new WeakMap<object, Pool>();

type Pipelines = { short: Pipeline; long: Pipeline };

const pipelines = new WeakMap<object, Pipelines>();

/** The names of the entities' columns, shared by all entity managers of a database. */
export function getColumns(em: EntityManager): NamedColumns {
  const metadata = em.getMetadata();
  const columns = namedColumns.get(metadata) ?? new NamedColumns(em, naming);
  namedColumns.set(metadata, columns);
  return columns;
}

const namedColumns = new WeakMap<object, NamedColumns>();
