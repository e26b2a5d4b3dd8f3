import { setTimeout as pause } from 'node:timers/promises';
import type { Constructor } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';
import { OperatorError, readSystemErrorCode } from '../errors/failure.ts';
import { advisoryLocks } from './advisory-locks.ts';
import { type Database, openDatabase } from './database.ts';
import { requireUpgradable } from './schema-compatibility.ts';

/** Far longer than the timeout of a request, because building an index of a large table may take hours. */
const TIMEOUT_MS = 86_400_000;

/** How long a statement may wait for a lock. All later statements that use the table wait behind it. */
const LOCK_TIMEOUT_MS = 500;
/**
 * Every fifth attempt waits longer than PostgreSQL's `deadlock_timeout` (1 s), after which PostgreSQL cancels an
 * autovacuum that has the lock.
 */
const LONG_LOCK_TIMEOUT_MS = 1500;
const LONG_EVERY = 5;
/** Time between two attempts, in which the statements that had to wait are executed. */
const LOCK_PAUSE_MS = 2000;
/** Attempts for about two minutes. */
const LOCK_ATTEMPTS = 50;

const POLL_MS = 250;
/** How long another migrator may run before the wait is reported. */
const REPORT_AFTER_MS = 2000;

/** PostgreSQL's `lock_not_available`. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Options of {@link migrate}. */
export type MigrateOptions = {
  /** Receives a line for each applied migration, and for each long wait. */
  printLine?: (line: string) => void;
  /** How often a migration that does not get a lock is attempted. */
  lockAttempts?: number;
  /** The migrations to apply. Defaults to those of the folder. */
  migrations?: Constructor<Migration>[];
};

/**
 * Applies the pending migrations one by one, while requests are served, and returns their names. Concurrent calls wait
 * for each other.
 * @throws {OperatorError} if the database is older than version 0.3.0, or if a migration does not get a lock. Earlier ones
 *   remain applied.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  // A single connection, because it has the lock and the timeouts.
  const database = await openDatabase({ url, poolSize: 1, timeoutMs: TIMEOUT_MS });
  const { config } = database.orm;
  if (options.migrations !== undefined) {
    config.set('migrations', { ...config.get('migrations'), migrationsList: options.migrations });
  }
  try {
    await requireUpgradable(database);
    return await applyPending(database, options);
  } finally {
    await database.close();
  }
}

async function applyPending(
  database: Database,
  { printLine = () => undefined, lockAttempts = LOCK_ATTEMPTS }: MigrateOptions,
): Promise<string[]> {
  const { config, migrator } = database.orm;
  let statement = '';
  config.set('onQuery', (sql) => {
    statement = sql;
    return sql;
  });
  const applied: string[] = [];
  for (let attempt = 1; ; ) {
    await prepareSession(database, attempt, printLine);
    const [next] = await migrator.getPending();
    if (next === undefined) return applied;
    try {
      await migrator.up({ migrations: [next.name] });
      applied.push(next.name);
      printLine(`Applied ${next.name}`);
      attempt = 1;
    } catch (error) {
      if (readSystemErrorCode(error) !== LOCK_NOT_AVAILABLE) throw error;
      const wait = `${next.name} is waiting for a lock${await describeWait(database, statement)}`;
      if (attempt === lockAttempts) {
        throw new OperatorError(`${wait}\nWhen the transaction has ended, run again: npm run migrate`);
      }
      if (attempt === 1) printLine(wait);
      attempt += 1;
      await pause(LOCK_PAUSE_MS);
    }
  }
}

/**
 * Locks the migrations and sets timeouts. This is repeated before each attempt, in case the connection was replaced.
 * It polls, because a waiting `pg_advisory_lock` has a snapshot, for whose end a concurrent build of an index waits.
 */
async function prepareSession(
  { orm }: Database,
  attempt: number,
  printLine: (line: string) => void,
): Promise<void> {
  const lockTimeoutMs = attempt % LONG_EVERY === 0 ? LONG_LOCK_TIMEOUT_MS : LOCK_TIMEOUT_MS;
  const started = performance.now();
  let isReported = false;
  for (;;) {
    // PgBouncer may have ignored the timeouts in the options of the connection.
    const [session] = await orm.em.getConnection().execute<{ locked: boolean }[]>(
      `select pg_try_advisory_lock(?) as locked, set_config('lock_timeout', ?, false),
         set_config('statement_timeout', '0', false)`,
      [advisoryLocks.migrations, `${lockTimeoutMs}`],
    );
    if (session?.locked) return;
    if (!isReported && performance.now() - started >= REPORT_AFTER_MS) {
      printLine('Another process is applying migrations. Waiting for it to finish.');
      isReported = true;
    }
    await pause(POLL_MS);
  }
}

/** Describes a waiting statement, with the PostgreSQL processes that use the tables and indexes that it names. */
async function describeWait({ orm }: Database, statement: string): Promise<string> {
  const uses = await orm.em.getConnection().execute<{ name: string; pids: number[] }[]>(
    `select relation::regclass::text as name, array_agg(distinct pid) as pids
     from pg_locks join pg_database on pg_database.oid = pg_locks.database
     where datname = current_database() and granted and pid <> pg_backend_pid()
       and relation in (select to_regclass(found[1]) from regexp_matches(?, '"[^"]+"', 'g') as found)
     group by relation`,
    [statement],
  );
  const holders = uses.map(({ name, pids }) => {
    const processes = pids.length === 1 ? 'process' : 'processes';
    return ` on ${name}, used by PostgreSQL ${processes} ${pids.join(', ')}`;
  });
  return `${holders.join(' and')}: ${statement}`;
}
