import { type DestinationStream, type Logger, pino } from 'pino';
import sonicBoom from 'sonic-boom';
import { OperatorError } from './errors/failure.ts';
import { type GatewayError, InternalError, UnauthenticatedError } from './errors/gateway-errors.ts';

/** The log: one JSON object per line. */
export type Log = Logger;

/** Creates a log; `level` is one of pino's. */
export function createLog(level: string, destination: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
    },
    destination,
  );
}

/** Changes, reads and claims of credentials, and deletions of users. */
export type AuditedEvent =
  | 'editor_credential.stored'
  | 'editor_credential.read'
  | 'editor_credential.claimed'
  | 'editor_credential.refreshed'
  | 'editor_credential.deleted'
  | 'user.deleted'
  | 'notification.answered';

/** Logs who (`by`) did what to which user, and to which record, whatever log level is configured. */
export function audit(
  log: Log,
  event: AuditedEvent,
  by: string,
  user: string,
  record: { readonly notification?: string; readonly via?: string } = {},
): void {
  log.child({}, { level: 'info' }).info({ audit: event, by, user, ...record }, 'audit');
}

/** The causes that each log has. One failed statement can fail many fields of a request. */
const logged = new WeakMap<Log, Set<unknown>>();

/**
 * Logs what the caller does not see of an error: the cause of an internal error, once for each log, or why
 * authentication failed.
 */
export function logHiddenCause(log: Log, error: GatewayError): void {
  if (error instanceof InternalError) {
    const causes = logged.get(log) ?? new Set();
    if (!causes.has(error.cause)) log.error({ err: error.cause }, 'internal error');
    logged.set(log, causes.add(error.cause));
  }
  if (error instanceof UnauthenticatedError) log.info({ reason: error.reason }, 'authentication failed');
}

/**
 * Copies only name, code, message and stack of an error and its causes: other properties may contain whole rows. The
 * message for an operator needs no stack.
 */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  return {
    type: error.name,
    ...('code' in error && { code: error.code }),
    message: readMessage(error),
    ...(!(error instanceof OperatorError) && { stack: error.stack }),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}

/** Node.js reports failed connections to a host with several addresses as an `AggregateError` without a message. */
function readMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message;
  return error.errors.map(readMessage).join('; ');
}

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
