import type { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { findPendingMigrations, migrate, requireMigrations } from '../database/migrate.ts';
import type { Log } from '../log.ts';
import { registerLogMetrics } from '../metrics/log-metrics.ts';
import { registerProcessMetrics } from '../metrics/process-metrics.ts';
import type { RunService } from './run-process.ts';

/** A started service. */
type RunningService = {
  metrics: Registry;
  /** The lines that are printed once it has started. */
  startLines: readonly string[];
  /** Stops; waits up to `graceMs` for running requests and deliveries. */
  close(graceMs: number): Promise<void>;
};

/**
 * Defines a service that runs on the database. Pending migrations are applied before it starts; in production, it does
 * not start while any are pending.
 */
export function defineService(
  start: (config: Config, database: Database, log: Log) => Promise<RunningService>,
): RunService {
  return async ({ config, databaseUrl, log, output, printLine, awaitEnd }) => {
    const database = await openDatabase({
      url: databaseUrl,
      poolSize: config.databasePoolSize,
      timeoutMs: config.databaseTimeoutMs,
    });
    try {
      if (config.production) await requireMigrations(database);
      else if ((await findPendingMigrations(database)).length > 0) await migrate(databaseUrl);
      const service = await start(config, database, log);
      if (config.metrics.kind !== 'off') {
        registerProcessMetrics(service.metrics);
        registerLogMetrics(service.metrics, output);
      }
      for (const line of service.startLines) printLine(line);
      const loss = await awaitEnd();
      await service.close(loss === undefined ? config.shutdownGraceMs : 0);
      if (loss !== undefined) throw loss;
    } finally {
      await database.close();
    }
  };
}
