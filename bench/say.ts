/** Writes a line to standard output. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line of progress to standard error. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
