import type { Bench } from './bench.ts';
import { signCallers } from './callers.ts';
import { fill } from './fill.ts';
import { measureGrowth } from './growth.ts';
import { createIssuer } from './issuer.ts';
import { startLoad } from './load.ts';
import { measureCrowding } from './memory.ts';
import { readOptions } from './options.ts';
import { startPostgres, withClient } from './postgres.ts';
import { measureProcesses } from './processes.ts';
import { sayCrowding, sayRest, sayStanding, sayStartUp } from './report.ts';
import { type Results, writeResults } from './results.ts';
import { say, tell } from './say.ts';
import { measureRest, measureStartUp } from './start-up.ts';
import { measureWorks } from './throughput.ts';
import { works } from './works.ts';

/*
 * The gateway beside its peers: who answers how many requests a second where all do the same. How to read it:
 *
 * - The gateway runs as `npm start` runs it, with everything on: verified tokens, rate limits, the log,
 *   NODE_ENV=production. The peers (bench/peers/, a file each) do the same work with the best settings that their
 *   documentation names, and without what they need not have: limits, a log, audit. All have as many connections to
 *   PostgreSQL.
 * - What changes records is held against node:http and pg too, which run the gateway's own statements in one pipelined
 *   transaction and announce nothing, and publishing against a gateway that announces nothing.
 * - Nothing is timed before the replies of all contenders were found equal (bench/equality.ts, bench/content.ts).
 * - The contenders of a work run right after one another, in another order each round (bench/rounds.ts). Read the
 *   ratios: the load and PostgreSQL share the machine with the servers, and other work on it moves all numbers.
 * - A ratio is the gateway's requests a second divided by the peer's of the same round, the median of all rounds; its
 *   interval holds the true median with 95 % where there are six rounds or more. A target within the interval is
 *   neither surely reached nor surely missed.
 * - CPU is processor time for a request: the server's own, and that of all processes of PostgreSQL. The second ratio is
 *   of both together; the load's is not in it.
 *
 * `--quick` is for a glance, two minutes where nothing else runs; `--only <name>` runs a work or a part, `--rounds` and
 * `--seconds` set their number and length, `--profile <folder>` writes a profile of the gateway's processor time. A bad
 * reply fails the bench; a missed target does not. The results go to bench/results/ too.
 */

/** What there is to measure besides the works; the names that `--only` takes. */
const PARTS = ['growth', 'processes', 'memory', 'start'];

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), [...Object.keys(works), ...PARTS], {
    usual: { rounds: 9, seconds: 3 },
    quick: { rounds: 2, seconds: 1 },
  });
  const postgres = await startPostgres();
  const load = startLoad();
  // Without its load the bench ends, and stops all that it started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void load.stop());
  try {
    tell('Making the data set');
    const databaseUrl = await postgres.createDatabase('bench', fill);
    const issuer = await createIssuer();
    await withClient(databaseUrl, async (client) => {
      const callers = await signCallers(client, issuer);
      const bench = { options, postgres, load, issuer, databaseUrl, client, callers };
      const results = await measure(bench);
      say('');
      say(`Written to ${await writeResults(bench, results)}`);
    });
  } finally {
    await load.stop();
    await postgres.stop();
  }
}

/** Measures what was asked for, and prints each part as soon as it is there. */
async function measure(bench: Bench): Promise<Results> {
  const { only } = bench.options;
  const isChosen = (name: string) => only.length === 0 || only.includes(name);
  const results: Results = {};
  const chosen = Object.entries(works).flatMap(([name, work]) => (isChosen(name) ? [work] : []));
  if (chosen.length > 0) {
    results.works = await measureWorks(bench, chosen);
    results.works.forEach(sayStanding);
  }
  if (isChosen('growth')) {
    results.growth = await measureGrowth(bench);
    results.growth.forEach(sayStanding);
  }
  if (isChosen('processes')) {
    results.processes = await measureProcesses(bench);
    results.processes.forEach(sayStanding);
  }
  if (isChosen('memory')) {
    results.rest = await measureRest(bench);
    sayRest(results.rest);
    results.crowding = await measureCrowding(bench);
    sayCrowding(results.crowding);
  }
  if (isChosen('start')) {
    results.startUp = await measureStartUp(bench);
    sayStartUp(results.startUp);
  }
  return results;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
