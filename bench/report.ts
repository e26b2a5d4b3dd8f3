import type { EntrantStanding, Standing } from './comparison.ts';
import { CROWDING_TARGET, type Crowding } from './memory.ts';
import { say } from './say.ts';
import type { Rest, StartUp } from './start-up.ts';
import { sayTable } from './table.ts';

const HEAD = ['', 'requests/s', 'all rounds', 'p50', 'p99', 'CPU/request', 'ratio', 'interval', 'target'];

/** Prints how the entrants of a contest stand; the ratio is the first one's to the one in the line. */
export function sayStanding({ title, entrants }: Standing): void {
  say('');
  say(title);
  sayTable([HEAD, ...entrants.map(rowOf)], [HEAD.indexOf('target')]);
}

function rowOf({ title, perSecond, p50, p99, cpuMicros, ratio, target, verdict }: EntrantStanding): string[] {
  const { median, least, most } = perSecond;
  const digits = median < 100 ? 1 : 0;
  return [
    title,
    median.toFixed(digits),
    `${least.toFixed(digits)} - ${most.toFixed(digits)}`,
    `${p50.toFixed(0)} ms`,
    `${p99.toFixed(0)} ms`,
    `${cpuMicros.toFixed(0)} µs`,
    ratio?.median.toFixed(2) ?? '',
    ratio === undefined ? '' : `${ratio.low.toFixed(2)} - ${ratio.high.toFixed(2)}`,
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
