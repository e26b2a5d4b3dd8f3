import {
  highestRate,
  isWhole,
  type LiveMemory,
  type LiveResults,
  P99_TARGET_MS,
  type Rate,
} from './live-rates.ts';
import { say } from './say.ts';
import { median } from './statistics.ts';
import { sayTable } from './table.ts';

const HEAD = ['events/s', 'p50', 'p99', 'p99 of all runs', 'max', 'gateway', 'PostgreSQL', 'load'];

/** Prints how long events took at each rate, what they cost, and what waiting subscribers hold. */
export function sayLive({ subscribers, rates, memory }: LiveResults): void {
  say('');
  say(`${subscribers} subscribers: from sending the request to publish until the event is read`);
  say('Processor time for each event with its publishing, and the share of a core that the load itself used');
  sayTable([HEAD, ...rates.map(rowOf)]);
  for (const rate of rates) sayFaults(rate);
  const highest = highestRate(rates);
  const fastest = highest === undefined ? 'none' : `${highest.perSecond} events/s`;
  say(`  highest rate with a p99 under ${P99_TARGET_MS} ms: ${fastest}`);
  sayMemory(subscribers, memory);
}

function rowOf({ perSecond, runs }: Rate): string[] {
  const middle = (of: (run: Rate['runs'][number]) => number) => median(runs.map(of));
  const p99s = runs.map(({ delays }) => delays.p99);
  return [
    String(perSecond),
    ms(middle(({ delays }) => delays.p50)),
    ms(median(p99s)),
    `${Math.min(...p99s).toFixed(0)} - ${Math.max(...p99s).toFixed(0)}`,
    ms(Math.max(...runs.map(({ delays }) => delays.max))),
    `${middle(({ gatewayMicros }) => gatewayMicros).toFixed(0)} µs`,
    `${middle(({ postgresMicros }) => postgresMicros).toFixed(0)} µs`,
    `${(middle(({ loadCpu }) => loadCpu) * 100).toFixed(0)} %`,
  ];
}

function sayFaults({ perSecond, runs }: Rate): void {
  for (const run of runs.filter((run) => !isWhole(run))) {
    const { published, missing, twice, failures, failure } = run;
    say(`  ${perSecond} events/s: of ${published} events ${missing} are missing, ${twice} came twice`);
    if (failures > 0) say(`    ${failures} failures, the first: ${failure}`);
  }
}

function sayMemory(subscribers: number, { before, ...states }: LiveMemory): void {
  const row = (title: string, kib: number) => [
    title,
    `${(kib / 1024).toFixed(1)} MiB`,
    `${((kib - before) / subscribers).toFixed(1)} KiB a subscriber`,
  ];
  say('');
  say('Resident memory of the gateway');
  sayTable([
    ['without subscribers', `${(before / 1024).toFixed(1)} MiB`],
    row(`${subscribers} idle`, states.idle),
    row('after the events', states.after),
    row('one minute later', states.minuteLater),
  ]);
}

const ms = (value: number) => `${value.toFixed(1)} ms`;
