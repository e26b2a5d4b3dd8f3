import { printLine } from './output.ts';

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
