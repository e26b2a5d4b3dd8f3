import type { Registry } from 'prom-client';
import { type Config, readConfig } from '../config.ts';
import { describeConnectionFailure } from '../database/connection-failure.ts';
import type { Database } from '../database/database.ts';
import { type DatabaseUse, startDatabaseServer } from '../database/database-server.ts';
import { createLog, type Log, type LogOutput, openLogOutput } from '../log.ts';
import { awaitStopSignal, exitImmediately } from '../stop-signal.ts';
import { version } from '../version.ts';

/** A started service: a gateway or a worker. */
export type RunningService = {
  metrics: Registry;
  /** The lines that are printed once it has started. */
  startLines: readonly string[];
  /** Stops; waits up to `graceMs` for running requests and deliveries. */
  close(graceMs: number): Promise<void>;
};

/** Starts a service on an open database, which it does not close. */
export type StartService = (config: Config, database: Database, log: Log) => Promise<RunningService>;

/** Loads a service. `database` decides whether the process may use another gateway's embedded database. */
type ServiceLoader = { database: DatabaseUse; load(): Promise<StartService> };

/** Time to close database connections and stop the embedded PostgreSQL, after requests have finished. */
const CLEANUP_MS = 3000;

/** Runs a service until a signal stops the process. @throws {OperatorError} if it cannot start or go on */
export async function runProcess({ database, load }: ServiceLoader): Promise<void> {
  const config = readConfig();
  const output = openLogOutput();
  const log = createLog(config.logLevel, output);
  for (const warning of config.warnings) log.warn(warning);
  const maxStopMs = config.shutdownDelayMs + config.shutdownGraceMs + CLEANUP_MS;
  const stopping = awaitStopSignal(['SIGTERM', 'SIGINT']).then(() => exitAfter(maxStopMs));
  const printLine = (line: string) => {
    if (config.production) log.info(line);
    else output.write(`${line}\n`);
    // Programs that start the gateway wait for these lines.
    output.flush();
  };
  const server = await startDatabaseServer(config, database, printLine);
  try {
    // Loading the modules takes most of the start-up time, so invalid settings and databases are reported first.
    const [start, opened] = await Promise.all([load(), openMigratedDatabase(config, server.url)]);
    try {
      const service = await start(config, opened, log);
      await registerMetrics(config, service.metrics, output);
      for (const line of service.startLines) printLine(line);
      const loss = await Promise.race([stopping, server.lost]);
      if (loss !== undefined) exitAfter(maxStopMs);
      await service.close(loss === undefined ? config.shutdownGraceMs : 0);
      if (loss !== undefined) throw loss;
    } finally {
      await opened.close();
    }
  } finally {
    await server.stop();
  }
}

/**
 * Opens the database and applies pending migrations; in production, fails if there are any. Fails if the database
 * requires a later version of the gateway.
 */
async function openMigratedDatabase(config: Config, url: string): Promise<Database> {
  const { openDatabase } = await import('../database/database.ts');
  const { migrate } = await import('../database/migrate.ts');
  const { findPendingMigrations, requireSchema } = await import('../database/schema-compatibility.ts');
  const { databasePoolSize: poolSize, databaseTimeoutMs: timeoutMs } = config;
  const database = await openDatabase({ url, poolSize, timeoutMs });
  try {
    if (!config.production && (await findPendingMigrations(database)).length > 0) await migrate(url);
    await requireSchema(database);
    return database;
  } catch (error) {
    await database.close();
    // The database may have become unreachable since it was checked.
    throw describeConnectionFailure(url, error) ?? error;
  }
}

async function registerMetrics(config: Config, registry: Registry, output: LogOutput): Promise<void> {
  if (config.metrics.kind === 'off') return;
  const { registerLogMetrics } = await import('../metrics/process-metrics.ts');
  const { registerProcessMetrics } = await import('../metrics/process-metrics.ts');
  registerProcessMetrics(registry, version);
  registerLogMetrics(registry, output);
}

/** Exits the process if it is still running after `maxMs`. */
function exitAfter(maxMs: number): void {
  setTimeout(exitImmediately, maxMs, `shutdown took longer than ${maxMs} ms`).unref();
}
