import sonicBoom from 'sonic-boom';

/** Standard output as the destination of the log. A failing write is counted and tried again; it throws nothing. */
export type LogOutput = {
  write(text: string): void;
  /** Writes what is held back. */
  flush(): void;
  /** Writes that failed so far. */
  readonly failedWrites: number;
  /** Lines that were dropped so far because too many waited for a write that succeeds. */
  readonly droppedLines: number;
};

/** Lines are written together: a write for each would take as long as a tenth of a request. */
const MIN_WRITE_BYTES = 4096;

/** Lines wait no longer than this. */
const FLUSH_MS = 250;

/** While writing fails, lines beyond this size are dropped. */
const MAX_WAITING_BYTES = 1_048_576;

/** Opens standard output for the log. The rest is written when the process exits. */
export function openLogOutput(): LogOutput {
  let failedWrites = 0;
  let droppedLines = 0;
  const output = new sonicBoom.SonicBoom({
    // Node.js makes a pipe or socket non-blocking when it opens it as a stream, so that a reader that is stuck does not
    // stop the process.
    fd: process.stdout.fd,
    sync: true,
    minLength: MIN_WRITE_BYTES,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: FLUSH_MS,
    // It would sleep until the reader continues.
    retryEAGAIN: () => false,
  });
  output.on('error', () => {
    failedWrites += 1;
  });
  output.on('drop', () => {
    droppedLines += 1;
  });
  process.once('exit', () => output.flush());
  return {
    write: (text) => void output.write(text),
    flush: () => output.flush(),
    get failedWrites() {
      return failedWrites;
    },
    get droppedLines() {
      return droppedLines;
    },
  };
}
