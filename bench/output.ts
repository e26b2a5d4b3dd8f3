/** Writes a line to standard output. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line of progress to standard error. */
export function reportProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}
