import { setTimeout as pause } from 'node:timers/promises';
import { during } from './bench.ts';
import { gatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { createIssuer, type Issuer } from './issuer.ts';
import { type LiveLoad, startLiveLoad } from './live-load.ts';
import {
  highestRate,
  isFastEnough,
  isWhole,
  type LiveResults,
  type Rate,
  type RateRun,
} from './live-rates.ts';
import { sayLive } from './live-report.ts';
import { checkOpenFiles } from './open-files.ts';
import { type Options, readOptions } from './options.ts';
import { type Postgres, startPostgres, withClient } from './postgres.ts';
import { writeResults } from './results.ts';
import { say, tell } from './say.ts';
import type { ServerProcess } from './server-process.ts';

/*
 * Many users wait for notifications while others are published, each rate twice the one before, until events take too
 * long: which rate is the highest, what an event costs, and what a waiting user costs.
 *
 * A delay counts from sending the request to publish, or from when it would have been sent if a connection had been
 * free. One process publishes and subscribes; it prints the share of a core that it uses, for it has to be far below
 * one. `--rounds` and `--seconds` set how often and how long every rate runs; `--quick` is for a glance.
 */

const SUBSCRIBERS = 2000;
const SUBSCRIBERS_WHEN_QUICK = 500;
const FIRST_RATE = 100;
const LAST_RATE = 6400;
/** Before memory is measured some come and go: code that is compiled is no subscriber's. */
const PASSING = 200;
/** Before delays are measured events flow for so long. */
const WARM_UP_SECONDS = 2;
const SETTLE_MS = 5000;
const MINUTE_MS = 60_000;

/** What the parts of this bench work with. */
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
  const subscribers = options.isQuick ? SUBSCRIBERS_WHEN_QUICK : SUBSCRIBERS;
  await checkOpenFiles(subscribers);
  const issuer = await createIssuer();
  const postgres = await startPostgres();
  const load = startLiveLoad();
  // Without its load the bench ends, and stops all that it started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void load.stop());
  try {
    const databaseUrl = await postgres.createDatabase('bench', async () => undefined);
    const token = await issuer.sign({ sub: 'platform-service', scope: 'platform:write' });
    tell('Starting the gateway');
    const starting = startGateway(gatewaySettings({ databaseUrl, issuer }), profiling(options));
    const live = await during(starting, (gateway) =>
      measure({ options, gateway, postgres, load, token }, issuer, subscribers),
    );
    sayLive(live);
    say('');
    const path = await withClient(databaseUrl, (client) => writeResults({ options, client }, { live }));
    say(`Written to ${path}`);
    if (!live.rates[0]?.runs.every(isWhole)) process.exitCode = 1;
  } finally {
    await load.stop();
    await postgres.stop();
  }
}

function profiling({ profile }: Options): string[] {
  return profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
}

async function measure(bench: LiveBench, issuer: Issuer, subscribers: number): Promise<LiveResults> {
  const { gateway, load } = bench;
  await letPass(gateway, issuer);
  const before = await gateway.memory();
  tell(`Opening ${subscribers} streams`);
  await load.subscribe({ address: gateway.address, users: await usersOf(issuer, subscribers) });
  await pause(SETTLE_MS);
  const idle = await gateway.memory();
  const rates: Rate[] = [];
  for (let perSecond = FIRST_RATE; perSecond <= LAST_RATE; perSecond *= 2) {
    const rate = await measureRate(bench, perSecond);
    rates.push(rate);
    if (!isFastEnough(rate)) break;
  }
  const after = (highestRate(rates) ?? rates[0])?.runs.at(-1)?.memory ?? Number.NaN;
  tell('Waiting a minute');
  await pause(MINUTE_MS);
  return { subscribers, rates, memory: { before, idle, after, minuteLater: await gateway.memory() } };
}

/** Opens streams that end again, and waits until nothing is left of them. */
async function letPass({ address }: ServerProcess, issuer: Issuer): Promise<void> {
  const passing = startLiveLoad();
  try {
    await passing.subscribe({ address, users: await usersOf(issuer, PASSING) });
  } finally {
    await passing.stop();
  }
  await pause(SETTLE_MS);
}

async function usersOf(issuer: Issuer, count: number) {
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
    tell(`  ${perSecond} events/s: p50 ${run.delays.p50.toFixed(1)} ms, p99 ${run.delays.p99.toFixed(1)} ms`);
    if (!isWhole(run)) break;
  }
  return { perSecond, runs };
}

async function measureRun(bench: LiveBench, perSecond: number): Promise<RateRun> {
  const { options, gateway, postgres, load, token } = bench;
  await gateway.emptyLog();
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
