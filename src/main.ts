import { readConfig } from './config.ts';
import { describeFailure } from './errors/operator-error.ts';
import { createLog } from './log.ts';
import { startDatabaseServer } from './postgres/start-postgres.ts';
import { openLogOutput } from './process/log-output.ts';
import { awaitStopSignal, exitAfter } from './process/stop-signal.ts';

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
    // Loading these modules takes most of a start. An invalid configuration or database is reported before.
    const { runGateway } = await import('./gateway.ts');
    await runGateway(config, server.url, { log, output, printLine }, async () => {
      const loss = await Promise.race([stopping, server.lost]);
      if (loss !== undefined) exitAfter(maxStopMs);
      return loss;
    });
  } finally {
    await server.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = 1;
});
