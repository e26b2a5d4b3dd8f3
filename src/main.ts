import { readConfig } from './config.ts';
import { openDatabase } from './database/database.ts';
import { migrate, pendingMigrations } from './database/migrate.ts';
import { startDatabaseServer } from './database/start.ts';
import { createLog } from './log.ts';
import { addProcessMetrics } from './metrics/process-metrics.ts';
import { describeFailure, OperatorError } from './operator-error.ts';
import { startServer } from './server.ts';

/** The time that running requests have when the process is told to stop. */
const GRACE_MS = 10_000;

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.logLevel);
  const say = (line: string) => {
    if (config.production) log.info(line);
    else process.stdout.write(`${line}\n`);
  };

  const stopping = stopSignal();
  const server = await startDatabaseServer(config, 'gateway', say);
  try {
    if (!config.production) await migrate(server.url);
    const database = await openDatabase({
      url: server.url,
      poolSize: config.databasePoolSize,
      timeoutMs: config.databaseTimeoutMs,
    });
    try {
      const pending = await pendingMigrations(database);
      if (pending.length > 0) {
        throw new OperatorError(`The database lacks ${pending.join(', ')}. Run: npm run migrate`);
      }
      const gateway = await startServer(config, database, log);
      if (config.metrics.kind !== 'off') addProcessMetrics(gateway.metrics);
      const address = config.publicUrl ?? gateway.address;
      say(`Listening on ${gateway.address}`);
      if (!config.production) {
        if (config.graphiql) say(`GraphiQL  ${address}/graphql`);
        if (config.keySet.kind === 'development') {
          say('A token   npm run -s token -- --sub alice --org acme');
          say('Records   npm run -s seed -- --user alice');
        }
      }
      await stopping;
      await gateway.close(GRACE_MS);
    } finally {
      await database.close();
    }
  } finally {
    await server.stop();
  }
}

/** Resolves at the first signal to stop; a second one ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const stop = () => {
      signals += 1;
      if (signals > 1) process.exit(1);
      resolve();
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = 1;
});
