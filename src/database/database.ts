import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { type EntityManager, type InferKyselyDB, MikroORM } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import { entities, revisionedEntities } from '../entities.ts';
import { getEntityNames } from './entity-names.ts';
import { MainDialect } from './main-dialect.ts';
import { Pipeline } from './pipeline.ts';
import {
  createOutage,
  createPoolMonitor,
  openMainPool,
  openPipelinedPool,
  type PoolOptions,
  preparedPoolOptions,
} from './pool.ts';
import { createPreparedStatementCheck } from './prepared-statements.ts';
import { RevisionGuard } from './revision-guard.ts';
import { Turns } from './turns.ts';

/** The folder of the migrations. Each file is named after its class. */
export const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url));

/** Opens a database. Connections are opened on demand, so this does not throw while PostgreSQL is unreachable. */
export async function openDatabase(options: PoolOptions) {
  const monitor = createPoolMonitor();
  const outage = createOutage();
  const main = openMainPool(options, outage);
  const orm = await MikroORM.init({
    entities,
    extensions: [Migrator],
    dbName: decodeURIComponent(new URL(options.url).pathname.slice(1)),
    clientUrl: options.url,
    driverOptions: new MainDialect(main),
    subscribers: [new RevisionGuard(revisionedEntities.map(({ meta }) => meta.className))],
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
  const readSettings = preparedPoolOptions(options);
  const short = new Pipeline(readSettings, outage);
  const long = new Pipeline(readSettings, outage);
  const changes = openPipelinedPool(options, outage);
  monitor.add('main', main);
  monitor.add('short_reads', short.pool);
  monitor.add('long_reads', long.pool);
  monitor.add('changes', changes);
  return {
    orm,
    /** Creates an entity manager for one request or task. It runs on the pool `main`. */
    fork: () => orm.em.fork(),
    /** Builds prepared statements. An entity manager builds and runs its statements by {@link getKysely}. */
    query: getKysely(orm.em),
    names: getEntityNames(orm.getMetadata()),
    /** The connections for short reads, which wait neither for changes nor for long reads. */
    short,
    /** The connections for long reads. Their number limits how many long lists are read at once. */
    long,
    /** The connections for changes. */
    changes,
    /** The turns of changes of one user. */
    turns: new Turns(options.timeoutMs),
    /** The URL that the database was opened with. */
    url: options.url,
    /** Returns whether prepared statements work, which some poolers do not support. */
    supportsPreparedStatements: createPreparedStatementCheck(options),
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

/** An open database: MikroORM, and the connections on which prepared statements run. docs/data-access.md has the rule. */
export type Database = Awaited<ReturnType<typeof openDatabase>>;

/**
 * Returns the Kysely of an entity manager, which uses the names of entities and properties. Within `em.transactional`,
 * it runs its statements in the transaction.
 */
export function getKysely(em: EntityManager): Kysely<Tables> {
  return em.getKysely<Tables>().withPlugin(getEntityNames(em.getMetadata()));
}

/** The tables and columns of statements, named after entities and properties. */
export type Tables = InferKyselyDB<
  (typeof entities)[number],
  { tableNamingStrategy: 'entity'; columnNamingStrategy: 'property'; convertValues: true }
>;
