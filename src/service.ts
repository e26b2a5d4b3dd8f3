import type { Registry } from 'prom-client';
import { type Config, readConfig } from './config.ts';
import { type Database, openDatabase } from './database/database.ts';
import { findPendingMigrations, migrate, requireMigrations } from './database/migrate.ts';
import { describeFailure } from './errors/operator-error.ts';
import { createLog, type Log } from './log.ts';
import { registerLogMetrics } from './metrics/log-metrics.ts';
import { registerProcessMetrics } from './metrics/process-metrics.ts';
import { startDatabaseServer } from './postgres/start-postgres.ts';
import { collectWhenIdle } from './process/idle-collection.ts';
import { openLogOutput } from './process/log-output.ts';
import { awaitStopSignal, exitAfter } from './process/stop-signal.ts';

/** What a process runs until it is stopped. */
export type Service = {
  metrics: Registry;
  /** The lines that are printed once it has started. */
  startLines: readonly string[];
  /** Waits up to `graceMs` for what is running. */
  close(graceMs: number): Promise<void>;
};

/** Starts a service. `role` decides whether it starts an embedded database or uses that of a running gateway. */
export type ServiceDefinition = {
  role: 'gateway' | 'command';
  start(config: Config, database: Database, log: Log): Promise<Service>;
};

/** Time to close database connections and stop the embedded PostgreSQL, after requests have finished. */
const CLEANUP_MS = 3000;

/** Runs a service until a signal stops the process. Prints errors and sets the exit status. */
export function runService(definition: ServiceDefinition): void {
  run(definition).catch((error: unknown) => {
    process.stderr.write(`${describeFailure(error)}\n`);
    process.exitCode = 1;
  });
}

async function run({ role, start }: ServiceDefinition): Promise<void> {
  const config = readConfig();
  const output = openLogOutput();
  const log = createLog(config.logLevel, output);
  const printLine = (line: string) => {
    if (config.production) log.info(line);
    else output.write(`${line}\n`);
    // Programs that start the gateway wait for these lines.
    output.flush();
  };

  for (const warning of config.warnings) log.warn(warning);
  const maxStopMs = config.shutdownDelayMs + config.shutdownGraceMs + CLEANUP_MS;
  const stopping = awaitStopSignal(maxStopMs);
  const server = await startDatabaseServer(config, role, printLine);
  try {
    const database = await openDatabase({
      url: server.url,
      poolSize: config.databasePoolSize,
      timeoutMs: config.databaseTimeoutMs,
    });
    try {
      if (config.production) await requireMigrations(database);
      else if ((await findPendingMigrations(database)).length > 0) await migrate(server.url);
      const service = await start(config, database, log);
      collectWhenIdle();
      if (config.metrics.kind !== 'off') {
        registerProcessMetrics(service.metrics);
        registerLogMetrics(service.metrics, output);
      }
      for (const line of service.startLines) printLine(line);
      const loss = await Promise.race([stopping, server.lost]);
      if (loss !== undefined) exitAfter(maxStopMs);
      await service.close(loss === undefined ? config.shutdownGraceMs : 0);
      if (loss !== undefined) throw loss;
    } finally {
      await database.close();
    }
  } finally {
    await server.stop();
  }
}
