import { type Config, readConfig } from '../config.ts';
import { describeFailure } from '../errors/operator-error.ts';
import { createLog, type Log } from '../log.ts';
import { type DatabaseUse, startDatabaseServer } from '../postgres/start-database-server.ts';
import { type LogOutput, openLogOutput } from '../process/log-output.ts';
import { awaitStopSignal, exitAfter } from '../process/stop-signal.ts';

/** What a process gives to its service. */
export type ServiceProcess = {
  config: Config;
  databaseUrl: string;
  log: Log;
  /** The output of the log. */
  output: LogOutput;
  /** Prints a line at the start. */
  printLine(line: string): void;
  /** Resolves when the service must stop: with an error if the database server was lost, otherwise with `undefined`. */
  awaitEnd(): Promise<unknown>;
};

/** Runs a service until the process must stop. */
export type RunService = (process: ServiceProcess) => Promise<void>;

/**
 * Loads the modules of a service. `database` decides whether the process may use another gateway's embedded database.
 */
type ServiceLoader = { database: DatabaseUse; load(): Promise<RunService> };

/** Time to close database connections and stop the embedded PostgreSQL, after requests have finished. */
const CLEANUP_MS = 3000;

/** Runs a service until a signal stops the process. Prints errors and sets the exit status. */
export function runProcess(loader: ServiceLoader): void {
  run(loader).catch((error: unknown) => {
    process.stderr.write(`${describeFailure(error)}\n`);
    process.exitCode = 1;
  });
}

async function run({ database, load }: ServiceLoader): Promise<void> {
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
  const server = await startDatabaseServer(config, database, printLine);
  const awaitEnd = async () => {
    const loss = await Promise.race([stopping, server.lost]);
    if (loss !== undefined) exitAfter(maxStopMs);
    return loss;
  };
  try {
    // Loading the modules takes most of the start-up time, so invalid settings and databases are reported first.
    const runService = await load();
    await runService({ config, databaseUrl: server.url, log, output, printLine, awaitEnd });
  } finally {
    await server.stop();
  }
}
