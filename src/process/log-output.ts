import sonicBoom from 'sonic-boom';

/** Standard output as the destination of the log. Failed writes do not throw; they are counted, and repeated later. */
export type LogOutput = {
  write(text: string): void;
  /** Writes buffered lines. */
  flush(): void;
  /** The number of failed writes. */
  readonly failedWrites: number;
  /** The number of lines dropped because the buffer was full. */
  readonly droppedLines: number;
};

/** Lines are buffered, because writing each one would take a tenth of the time of a request. */
const MIN_WRITE_BYTES = 4096;

/** Maximum time that a line is buffered. */
const FLUSH_MS = 250;

/** Size of the buffer, beyond which lines are dropped. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** Opens standard output for the log. Buffered lines are written when the process exits. */
export function openLogOutput(): LogOutput {
  let failedWrites = 0;
  let droppedLines = 0;
  const output = new sonicBoom.SonicBoom({
    // Accessing `process.stdout` makes a pipe non-blocking, so that a stalled reader does not block the process.
    fd: process.stdout.fd,
    sync: true,
    minLength: MIN_WRITE_BYTES,
    maxLength: MAX_BUFFERED_BYTES,
    periodicFlush: FLUSH_MS,
    // Retrying at once would block until the reader continues. The next flush retries.
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
