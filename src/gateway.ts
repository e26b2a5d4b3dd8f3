import type { Config } from './config.ts';
import { openDatabase } from './database/database.ts';
import { findPendingMigrations, migrate, requireMigrations } from './database/migrate.ts';
import type { Log } from './log.ts';
import { registerLogMetrics } from './metrics/log-metrics.ts';
import { registerProcessMetrics } from './metrics/process-metrics.ts';
import { collectWhenIdle } from './process/idle-collection.ts';
import type { LogOutput } from './process/log-output.ts';
import { listStartLines } from './process/start-lines.ts';
import { startServer } from './server.ts';

/** Where a process writes: its log, the output of the log, and the lines printed at the start. */
type Outputs = { log: Log; output: LogOutput; printLine(line: string): void };

/**
 * Migrates the database and serves until `awaitEnd` resolves.
 * @throws the error that `awaitEnd` resolves with
 */
export async function runGateway(
  config: Config,
  databaseUrl: string,
  { log, output, printLine }: Outputs,
  awaitEnd: () => Promise<unknown>,
): Promise<void> {
  const database = await openDatabase({
    url: databaseUrl,
    poolSize: config.databasePoolSize,
    timeoutMs: config.databaseTimeoutMs,
  });
  try {
    if (config.production) await requireMigrations(database);
    else if ((await findPendingMigrations(database)).length > 0) await migrate(databaseUrl);
    const gateway = await startServer(config, database, log);
    // Frees about 50 MiB that V8 would keep after loading the modules; takes about 100 ms.
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    collectWhenIdle();
    if (config.metrics.kind !== 'off') {
      registerProcessMetrics(gateway.metrics);
      registerLogMetrics(gateway.metrics, output);
    }
    for (const line of listStartLines(config, gateway)) printLine(line);
    const loss = await awaitEnd();
    await gateway.close(loss === undefined ? config.shutdownGraceMs : 0);
    if (loss !== undefined) throw loss;
  } finally {
    await database.close();
  }
}
