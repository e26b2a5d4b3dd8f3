import { say } from './say.ts';

/** Prints a table: the first column to the left, the others to the right, but for those named in `left`. */
export function sayTable(rows: readonly (readonly string[])[], left: readonly number[] = []): void {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 || left.includes(column) ? cell.padEnd(width(column)) : cell.padStart(width(column)),
    );
    say(`  ${cells.join('  ')}`.trimEnd());
  }
}
