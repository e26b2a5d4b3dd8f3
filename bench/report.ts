import type { ComparisonResult, Ratio, SubjectResult } from './comparison.ts';
import { printLine, printTable } from './output.ts';
import type { IdleMemory, StartUp } from './start-up.ts';
import { MAX_PEAK_RATIO, type WaitingMemory } from './waiting-memory.ts';

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

/** The left-aligned columns. */
const LEFT = HEAD.flatMap((title, column) => (title === 'target' ? [column] : []));

/** Prints the results of a comparison. Ratios are those of the first subject to the subject of the row. */
export function printComparison({ title, subjects }: ComparisonResult): void {
  printLine('');
  printLine(title);
  printTable([HEAD, ...subjects.map(formatRow)], LEFT);
}

function formatRow(subject: SubjectResult): string[] {
  const { title, perSecond, p50, p99, cpuMicros, postgresMicros, ratio, cost } = subject;
  const { median, min, max } = perSecond;
  const digits = median < 100 ? 1 : 0;
  return [
    title,
    median.toFixed(digits),
    `${min.toFixed(digits)} - ${max.toFixed(digits)}`,
    `${p50.toFixed(0)} ms`,
    `${p99.toFixed(0)} ms`,
    `${cpuMicros.toFixed(0)} µs`,
    `${postgresMicros.toFixed(0)} µs`,
    ...formatRatio(ratio),
    ...formatRatio(cost),
  ];
}

function formatRatio(ratio: Ratio | undefined): string[] {
  if (ratio === undefined) return ['', '', ''];
  const { median, low, high, target, verdict } = ratio;
  return [
    median.toFixed(2),
    `${low.toFixed(2)} - ${high.toFixed(2)}`,
    target === undefined ? '' : `${target.toFixed(2)} ${verdict}`,
  ];
}

/** Prints the memory of waiting callers. */
export function printWaitingMemory(results: readonly WaitingMemory[]): void {
  printLine('');
  printLine('Resident memory of the gateway while callers wait for 10,000 workspaces each');
  printTable([
    ['', 'before', 'peak'],
    ...results.map(({ callers, before, peak }) => [`${callers} callers`, mib(before), mib(peak)]),
  ]);
  const [few, many] = results;
  if (few === undefined || many === undefined) return;
  const ratio = many.peak / few.peak;
  const verdict = ratio <= MAX_PEAK_RATIO ? 'met' : 'missed';
  printLine(
    `  ratio of the peaks: ${ratio.toFixed(2)}; target: at most ${MAX_PEAK_RATIO.toFixed(2)}, ${verdict}`,
  );
}

/** Prints the memory of an idle gateway. */
export function printIdleMemory({ atRest, afterRequests }: IdleMemory): void {
  printLine('');
  printLine('Resident memory of the idle gateway');
  printTable([
    ['after the start', mib(atRest)],
    ['after requests', mib(afterRequests)],
  ]);
}

/** Prints start-up times. */
export function printStartUp(starts: readonly StartUp[]): void {
  printLine('');
  printLine('From npm start to the first reply');
  printTable([
    ['', '/healthz', 'GraphQL'],
    ...starts.map(({ title, healthz, graphql }) => [
      title,
      `${healthz.toFixed(0)} ms`,
      `${graphql.toFixed(0)} ms`,
    ]),
  ]);
}

const mib = (kib: number) => `${(kib / 1024).toFixed(0)} MiB`;
