import type { Bench } from './bench.ts';
import { signCallers } from './callers.ts';
import { fill } from './fill.ts';
import { measureGrowth } from './growth.ts';
import { createIssuer } from './issuer.ts';
import { startLoad } from './load.ts';
import { readOptions } from './options.ts';
import { printLine, reportProgress } from './output.ts';
import { startPostgres, withClient } from './postgres.ts';
import { measureProcesses } from './processes.ts';
import { printComparison, printIdleMemory, printStartUp, printWaitingMemory } from './report.ts';
import { type Results, writeResults } from './results.ts';
import { measureIdleMemory, measureStartUp } from './start-up.ts';
import { measureWorkloads } from './throughput.ts';
import { measureWaitingMemory } from './waiting-memory.ts';
import { workloads } from './workloads.ts';

/*
 * Compares the gateway with peers that do the same work.
 *
 * - The gateway runs with the command of `npm start` and NODE_ENV=production: verified tokens, rate limits, log. The
 *   peers (bench/peers/) use the fastest settings of their documentation and have neither limits nor a log.
 * - All have the same DATABASE_POOL_SIZE. The peers read over that many connections, the gateway over two pipelined ones
 *   for short reads and two for long reads.
 * - Changes are compared with node:http and pg, which run the gateway's own statements in one pipelined transaction; a
 *   dismissal is a copy of the gateway's statement, without a transaction. Publishing is also compared with a gateway
 *   that makes no announcements.
 * - Measuring starts after the replies of all contenders were found equal (bench/equality.ts, bench/normalize.ts).
 * - The contenders of a workload run one after another, in a different order each round (bench/rounds.ts). Compare
 *   ratios, because load generator, PostgreSQL and other processes share the machine with the servers.
 * - A ratio is the gateway's requests per second divided by the peer's in the same round; the result is the median of all
 *   rounds with its 95 % confidence interval, which needs at least six rounds.
 * - CPU is processor time per request, of the server and of all processes of PostgreSQL. The CPU ratio adds both.
 *
 * `--without <piece>` also measures a gateway without a piece of its machinery (bench/without/), for example
 * `--only notifications --without compiled-execution`.
 *
 * `--quick` takes six minutes on an idle machine. `--only <name>` runs one workload or part. `--rounds` and `--seconds`
 * set the number and length of runs. `--profile <folder>` writes a CPU profile of the gateway. An unsuccessful reply
 * fails the bench; a missed target does not. Results are written to bench/results/.
 */

/** The measurements besides the workloads, by name for `--only`. */
const PARTS = ['growth', 'processes', 'memory', 'start'];

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), [...Object.keys(workloads), ...PARTS], {
    usual: { rounds: 9, seconds: 3 },
    quick: { rounds: 2, seconds: 1 },
  });
  const postgres = await startPostgres();
  const load = startLoad();
  // When the load process exits, the bench fails and stops all servers.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void load.stop());
  try {
    reportProgress('Creating the data set');
    const databaseUrl = await postgres.createDatabase('bench', (client) => fill(client));
    const issuer = await createIssuer();
    await withClient(databaseUrl, async (client) => {
      const callers = await signCallers(client, issuer);
      const bench = { options, postgres, load, issuer, databaseUrl, client, callers };
      const results = await measure(bench);
      printLine('');
      printLine(`Written to ${await writeResults(bench, results)}`);
    });
  } finally {
    await load.stop();
    await postgres.stop();
  }
}

/** Runs the chosen measurements and prints the results of each. */
async function measure(bench: Bench): Promise<Results> {
  const { only } = bench.options;
  const isChosen = (name: string) => only.length === 0 || only.includes(name);
  const results: Results = {};
  const chosen = Object.entries(workloads).flatMap(([name, workload]) => (isChosen(name) ? [workload] : []));
  if (chosen.length > 0) {
    results.workloads = await measureWorkloads(bench, chosen);
    results.workloads.forEach(printComparison);
  }
  if (isChosen('growth')) {
    results.growth = await measureGrowth(bench);
    results.growth.forEach(printComparison);
  }
  if (isChosen('processes')) {
    results.processes = await measureProcesses(bench);
    results.processes.forEach(printComparison);
  }
  if (isChosen('memory')) {
    results.idleMemory = await measureIdleMemory(bench);
    printIdleMemory(results.idleMemory);
    results.waitingMemory = await measureWaitingMemory(bench);
    printWaitingMemory(results.waitingMemory);
  }
  if (isChosen('start')) {
    results.startUp = await measureStartUp(bench);
    printStartUp(results.startUp);
  }
  return results;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
