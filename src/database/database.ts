import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { type InferKyselyDB, MikroORM } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import { entities } from './entities.ts';
import { NamedColumns } from './named-columns.ts';
import { type PoolOptions, poolOptions, watchPool } from './pool.ts';

/** Where the migrations lie, each file named as its class. */
export const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url));

/** Opens the pool. Connections are made when they are needed, so a database that is away does not throw here. */
export async function openDatabase(options: PoolOptions) {
  const pool = watchPool();
  const orm = await MikroORM.init({
    entities,
    extensions: [Migrator],
    dbName: decodeURIComponent(new URL(options.url).pathname.slice(1)),
    clientUrl: options.url,
    driverOptions: poolOptions(options, pool),
    debug: false,
    migrations: {
      path: migrationsFolder,
      emit: 'ts',
      snapshot: false,
      glob: '!(*.d).ts',
    },
    // Without a logger of its own the library prints.
    logger: () => undefined,
  });
  return Object.assign(orm, {
    /** The pool's connections by state, requests that wait for one, and how many there can be. */
    connections: () => ({ ...pool.counts(), max: options.poolSize }),
    /** Gives up what still runs, so that closing does not wait for it. */
    abandonQueries: () => pool.breakUsed(),
  });
}

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/** The address that a database was opened with. */
export function addressOf({ config }: Database): string {
  return config.get('clientUrl') ?? '';
}

/** What queries and transactions go through. */
export type EntityManager = Database['em'];

const naming = {
  tableNamingStrategy: 'entity',
  columnNamingStrategy: 'property',
  convertValues: true,
} as const;

/** The entities as tables and their properties as columns. */
export type Tables = InferKyselyDB<(typeof entities)[number], typeof naming>;

/** Queries with entities as tables and their properties as columns, inside the manager's transaction if it has one. */
export function query(em: EntityManager): Kysely<Tables> {
  return em.getKysely<Tables>().withPlugin(columnsOf(em));
}

/** How the columns of the entities are named; it is the same for all managers of a database. */
export function columnsOf(em: EntityManager): NamedColumns {
  const metadata = em.getMetadata();
  const columns = namedColumns.get(metadata) ?? new NamedColumns(em, naming);
  namedColumns.set(metadata, columns);
  return columns;
}

const namedColumns = new WeakMap<object, NamedColumns>();
