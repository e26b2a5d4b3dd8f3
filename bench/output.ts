import { setTimeout as pause } from 'node:timers/promises';

/** Writes a line to standard output. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line of progress to standard error. */
export function reportProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Prints a table. The first column and those in `left` are left-aligned, the others right-aligned. */
export function printTable(rows: readonly (readonly string[])[], left: readonly number[] = []): void {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 || left.includes(column) ? cell.padEnd(width(column)) : cell.padStart(width(column)),
    );
    printLine(`  ${cells.join('  ')}`.trimEnd());
  }
}

const SETTLE_MS = 60_000;

/** Waits a minute without work before memory is measured. */
export async function settle(): Promise<void> {
  reportProgress(`  waiting ${SETTLE_MS / 1000} s`);
  await pause(SETTLE_MS);
}
