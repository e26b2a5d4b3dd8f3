import { readConfig } from './config.ts';
import { openDatabase } from './database/database.ts';
import { findPendingMigrations, migrate, requireMigrations } from './database/migrate.ts';
import { describeFailure } from './errors/operator-error.ts';
import { createLog } from './log.ts';
import { registerLogMetrics } from './metrics/log-metrics.ts';
import { registerProcessMetrics } from './metrics/process-metrics.ts';
import { startDatabaseServer } from './postgres/start-postgres.ts';
import { collectWhenIdle } from './process/idle-collection.ts';
import { openLogOutput } from './process/log-output.ts';
import { listStartLines } from './process/start-lines.ts';
import { awaitStopSignal, exitAfter } from './process/stop-signal.ts';
import { startServer } from './server.ts';

/** Time to close database connections and stop the embedded PostgreSQL, after requests have finished. */
const CLEANUP_MS = 3000;

async function main(): Promise<void> {
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
  const server = await startDatabaseServer(config, 'gateway', printLine);
  try {
    const database = await openDatabase({
      url: server.url,
      poolSize: config.databasePoolSize,
      timeoutMs: config.databaseTimeoutMs,
    });
    try {
      if (config.production) await requireMigrations(database);
      else if ((await findPendingMigrations(database)).length > 0) await migrate(server.url);
      const gateway = await startServer(config, database, log);
      collectWhenIdle();
      if (config.metrics.kind !== 'off') {
        registerProcessMetrics(gateway.metrics);
        registerLogMetrics(gateway.metrics, output);
      }
      for (const line of listStartLines(config, gateway)) printLine(line);
      const loss = await Promise.race([stopping, server.lost]);
      if (loss !== undefined) exitAfter(maxStopMs);
      await gateway.close(loss === undefined ? config.shutdownGraceMs : 0);
      if (loss !== undefined) throw loss;
    } finally {
      await database.close();
    }
  } finally {
    await server.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = 1;
});
