import { withServer } from './bench.ts';
import { createGatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { createIssuer, type Issuer } from './issuer.ts';
import { type LiveLoad, startLiveLoad } from './live-load.ts';
import {
  findHighestRate,
  isComplete,
  isFastEnough,
  type LiveResults,
  type Rate,
  type RateRun,
} from './live-rates.ts';
import { printLiveResults } from './live-report.ts';
import { checkOpenFiles } from './open-files.ts';
import { type Options, readOptions } from './options.ts';
import { printLine, reportProgress, settle } from './output.ts';
import { type Postgres, startPostgres, withClient } from './postgres.ts';
import { writeResults } from './results.ts';
import type { ServerProcess } from './server-process.ts';

/*
 * Measures live events: many users subscribe while notifications are published at a rate that doubles until events take
 * too long. Reports the highest rate, the cost of an event, and the memory of a subscriber.
 *
 * A delay starts when the request to publish is sent, or would have been sent if a connection had been free. One
 * process publishes and subscribes. Its share of a core is reported and must be far below one. `--rounds` and
 * `--seconds` set the number and length of the runs of each rate; `--quick` runs briefly.
 */

const SUBSCRIBERS = 2000;
const QUICK_SUBSCRIBERS = 500;
/** Events per second. */
const RATES = [100, 200, 400, 600, 800, 1600, 3200, 6400];
/** Subscribers that connect and disconnect before memory is measured, so that it does not include compiled code. */
const WARM_UP_SUBSCRIBERS = 200;
/** Time to publish before delays are measured. */
const WARM_UP_SECONDS = 2;

/** The dependencies of this benchmark. */
type LiveBench = {
  options: Options;
  gateway: ServerProcess;
  postgres: Postgres;
  load: LiveLoad;
  token: string;
};

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), [], {
    usual: { rounds: 3, seconds: 10 },
    quick: { rounds: 1, seconds: 3 },
  });
  const subscribers = options.isQuick ? QUICK_SUBSCRIBERS : SUBSCRIBERS;
  await checkOpenFiles(subscribers);
  const issuer = await createIssuer();
  const postgres = await startPostgres();
  const load = startLiveLoad();
  // When the load process exits, the bench fails and stops all servers.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void load.stop());
  try {
    const databaseUrl = await postgres.createDatabase('bench', async () => undefined);
    const token = await issuer.sign({ sub: 'platform-service', scope: 'platform:notifications' });
    reportProgress('Starting the gateway');
    const starting = startGateway(createGatewaySettings({ databaseUrl, issuer }), listNodeOptions(options));
    const live = await withServer(starting, (gateway) =>
      measure({ options, gateway, postgres, load, token }, issuer, subscribers),
    );
    printLiveResults(live);
    printLine('');
    const path = await withClient(databaseUrl, (client) => writeResults({ options, client }, { live }));
    printLine(`Written to ${path}`);
    if (!live.rates[0]?.runs.every(isComplete)) process.exitCode = 1;
  } finally {
    await load.stop();
    await postgres.stop();
  }
}

function listNodeOptions({ profile }: Options): string[] {
  return profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
}

async function measure(bench: LiveBench, issuer: Issuer, subscribers: number): Promise<LiveResults> {
  const { gateway, load } = bench;
  await warmUp(gateway, issuer);
  const before = await gateway.memory();
  reportProgress(`Opening ${subscribers} streams`);
  await load.subscribe({ address: gateway.address, users: await signUsers(issuer, subscribers) });
  await settle();
  const idle = await gateway.memory();
  const rates: Rate[] = [];
  for (const perSecond of RATES) {
    const rate = await measureRate(bench, perSecond);
    rates.push(rate);
    if (!isFastEnough(rate)) break;
  }
  const after = (findHighestRate(rates) ?? rates[0])?.runs.at(-1)?.memory ?? Number.NaN;
  await settle();
  return { subscribers, rates, memory: { before, idle, after, later: await gateway.memory() } };
}

/** Opens and closes streams, then waits until the gateway is idle. */
async function warmUp({ address }: ServerProcess, issuer: Issuer): Promise<void> {
  const passing = startLiveLoad();
  try {
    await passing.subscribe({ address, users: await signUsers(issuer, WARM_UP_SUBSCRIBERS) });
  } finally {
    await passing.stop();
  }
  await settle();
}

async function signUsers(issuer: Issuer, count: number) {
  const names = Array.from({ length: count }, (_, index) => `user-${index}`);
  return Promise.all(
    names.map(async (userId) => ({ userId, token: await issuer.sign({ sub: userId, org_id: 'acme' }) })),
  );
}

async function measureRate(bench: LiveBench, perSecond: number): Promise<Rate> {
  const { options, load, token } = bench;
  await load.publish({ token, perSecond, seconds: WARM_UP_SECONDS });
  const runs: RateRun[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const run = await measureRun(bench, perSecond);
    runs.push(run);
    reportProgress(
      `  ${perSecond} events/s: p50 ${run.delays.p50.toFixed(1)} ms, p99 ${run.delays.p99.toFixed(1)} ms`,
    );
    if (!isComplete(run)) break;
  }
  return { perSecond, runs };
}

async function measureRun(bench: LiveBench, perSecond: number): Promise<RateRun> {
  const { options, gateway, postgres, load, token } = bench;
  await gateway.truncateLog();
  const before = [await gateway.processorTime(), await postgres.processorTime()] as const;
  const run = await load.publish({ token, perSecond, seconds: options.seconds });
  const events = run.published - run.missing;
  const micros = (now: number, then: number) => ((now - then) * 1000) / events;
  return {
    ...run,
    gatewayMicros: micros(await gateway.processorTime(), before[0]),
    postgresMicros: micros(await postgres.processorTime(), before[1]),
    memory: await gateway.memory(),
  };
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
