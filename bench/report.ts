import type { EntrantStanding, Ratio, Standing } from './comparison.ts';
import { CROWDING_TARGET, type Crowding } from './memory.ts';
import { say } from './say.ts';
import type { Rest, StartUp } from './start-up.ts';
import { sayTable } from './table.ts';

const HEAD = [
  '',
  'requests/s',
  'all rounds',
  'p50',
  'p99',
  'CPU',
  'PostgreSQL',
  'ratio',
  'interval',
  'target',
  'CPU ratio',
  'interval',
  'target',
];

/** The columns of words. */
const LEFT = HEAD.flatMap((title, column) => (title === 'target' ? [column] : []));

/**
 * Prints the results of a contest's entrants: processor time is for a request, and both ratios are the first entrant's
 * to the one in the line.
 */
export function sayStanding({ title, entrants }: Standing): void {
  say('');
  say(title);
  sayTable([HEAD, ...entrants.map(rowOf)], LEFT);
}

function rowOf(entrant: EntrantStanding): string[] {
  const { title, perSecond, p50, p99, cpuMicros, postgresMicros, ratio, cost } = entrant;
  const { median, least, most } = perSecond;
  const digits = median < 100 ? 1 : 0;
  return [
    title,
    median.toFixed(digits),
    `${least.toFixed(digits)} - ${most.toFixed(digits)}`,
    `${p50.toFixed(0)} ms`,
    `${p99.toFixed(0)} ms`,
    `${cpuMicros.toFixed(0)} µs`,
    `${postgresMicros.toFixed(0)} µs`,
    ...cellsOf(ratio),
    ...cellsOf(cost),
  ];
}

function cellsOf(ratio: Ratio | undefined): string[] {
  if (ratio === undefined) return ['', '', ''];
  const { median, low, high, target, verdict } = ratio;
  return [
    median.toFixed(2),
    `${low.toFixed(2)} - ${high.toFixed(2)}`,
    target === undefined ? '' : `${target.toFixed(2)} ${verdict}`,
  ];
}

/** Prints what waiting callers cost. */
export function sayCrowding(crowdings: readonly Crowding[]): void {
  say('');
  say('Resident memory of the gateway while callers wait for 10,000 workspaces each');
  sayTable([
    ['', 'before', 'peak'],
    ...crowdings.map(({ callers, before, peak }) => [`${callers} callers`, mib(before), mib(peak)]),
  ]);
  const [few, many] = crowdings;
  if (few === undefined || many === undefined) return;
  const ratio = many.peak / few.peak;
  const verdict = ratio <= CROWDING_TARGET ? 'reached' : 'missed';
  say(`  peaks: ${ratio.toFixed(2)} to 1; target: at most ${CROWDING_TARGET.toFixed(2)}, ${verdict}`);
}

/** Prints what a gateway with nothing to do holds. */
export function sayRest({ atRest, afterRequests }: Rest): void {
  say('');
  say('Resident memory of the gateway with nothing to do');
  sayTable([
    ['some seconds after the start', mib(atRest)],
    ['some seconds after requests', mib(afterRequests)],
  ]);
}

/** Prints how long starts take. */
export function sayStartUp(starts: readonly StartUp[]): void {
  say('');
  say('From npm start to the first reply');
  sayTable([
    ['', '/healthz', 'GraphQL'],
    ...starts.map(({ title, healthz, graphql }) => [
      title,
      `${healthz.toFixed(0)} ms`,
      `${graphql.toFixed(0)} ms`,
    ]),
  ]);
}

const mib = (kib: number) => `${(kib / 1024).toFixed(0)} MiB`;
