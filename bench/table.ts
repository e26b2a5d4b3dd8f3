import type { Standing } from './comparison.ts';
import { say } from './say.ts';

const HEAD = [
  '',
  'requests/s',
  'of all rounds',
  'p50',
  'p99',
  'CPU/request',
  'gateway',
  'interval',
  'target',
];

/** Prints how the entrants of a contest stand. */
export function sayStandings(title: string, standings: readonly Standing[]): void {
  const rows = standings.map(rowOf);
  const widths = HEAD.map((name, column) =>
    Math.max(...[HEAD, ...rows].map((row) => row[column]?.length ?? 0), name.length),
  );
  const write = (row: readonly string[]) =>
    say(
      row
        .map((cell, column) =>
          column === 0 || column === 8
            ? cell.padEnd(widths[column] ?? 0)
            : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    );
  say('');
  say(title);
  write(HEAD);
  for (const row of rows) write(row);
}

function rowOf({ title, perSecond, p50, p99, cpuMicros, ratio, target, verdict }: Standing): string[] {
  const { median, least, most } = perSecond;
  const digits = median < 100 ? 1 : 0;
  return [
    `  ${title}`,
    median.toFixed(digits),
    `${least.toFixed(digits)} - ${most.toFixed(digits)}`,
    `${p50.toFixed(0)} ms`,
    `${p99.toFixed(0)} ms`,
    `${cpuMicros.toFixed(0)} us`,
    ratio === undefined ? '' : `x ${ratio.median.toFixed(2)}`,
    ratio === undefined ? '' : `${ratio.low.toFixed(2)} - ${ratio.high.toFixed(2)}`,
    target === undefined ? '' : `${target.toFixed(2)} ${verdict}`,
  ];
}
