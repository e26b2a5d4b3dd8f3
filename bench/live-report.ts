import {
  findHighestRate,
  isComplete,
  type LiveMemory,
  type LiveResults,
  P99_TARGET_MS,
  type Rate,
} from './live-rates.ts';
import { printLine, printTable } from './output.ts';
import { median } from './statistics.ts';

const HEAD = ['events/s', 'p50', 'p99', 'p99 of all runs', 'max', 'gateway', 'PostgreSQL', 'load'];

/** Prints delays and processor time for each rate, and the memory of subscribers. */
export function printLiveResults({ subscribers, rates, memory }: LiveResults): void {
  printLine('');
  printLine(`${subscribers} subscribers: delay from sending the request to publish until reading the event`);
  printLine(
    'Processor time per event, publishing included, and the share of one core used by the load generator',
  );
  printTable([HEAD, ...rates.map(formatRow)]);
  for (const rate of rates) printFailures(rate);
  const highest = findHighestRate(rates);
  const fastest = highest === undefined ? 'none' : `${highest.perSecond} events/s`;
  printLine(`  highest rate with a p99 under ${P99_TARGET_MS} ms: ${fastest}`);
  printMemory(subscribers, memory);
}

function formatRow({ perSecond, runs }: Rate): string[] {
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

function printFailures({ perSecond, runs }: Rate): void {
  for (const run of runs.filter((run) => !isComplete(run))) {
    const { published, missing, duplicates, failures, failure } = run;
    printLine(
      `  ${perSecond} events/s: of ${published} events, ${missing} are missing and ${duplicates} are duplicates`,
    );
    if (failures > 0) printLine(`    ${failures} failures, the first: ${failure}`);
  }
}

function printMemory(subscribers: number, { before, ...states }: LiveMemory): void {
  const row = (title: string, kib: number) => [
    title,
    `${(kib / 1024).toFixed(1)} MiB`,
    `${((kib - before) / subscribers).toFixed(1)} KiB per subscriber`,
  ];
  printLine('');
  printLine('Resident memory of the gateway');
  printTable([
    ['without subscribers', `${(before / 1024).toFixed(1)} MiB`],
    row(`${subscribers} idle`, states.idle),
    row('after the events', states.after),
    row('two minutes later', states.later),
  ]);
}

const ms = (value: number) => `${value.toFixed(1)} ms`;
