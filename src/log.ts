import { type DestinationStream, type Logger, pino } from 'pino';
import type { InternalError } from './errors/gateway-errors.ts';

/** JSON lines on standard output. */
export type Log = Logger;

/** A log; `level` is one of pino's. */
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
  | 'user.deleted';

/** Logs who did what to which user, whatever the log's level is. */
export function audit(log: Log, event: AuditedEvent, by: string, user: string): void {
  log.child({}, { level: 'info' }).info({ audit: event, by, user }, 'audit');
}

/** Writes down why a request ended in an internal error; the caller is told nothing of it. */
export function logInternalError(log: Log, { cause }: InternalError): void {
  log.error({ err: cause }, 'internal error');
}

/** The error and its causes by name, code, message and stack; other members may hold whole rows. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  return {
    type: error.name,
    ...('code' in error && { code: error.code }),
    message: describeCause(error),
    stack: error.stack,
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}

/** Of an address with several numbers Node tells each one's failure apart, without words for the whole. */
function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message;
  return error.errors.map(describeCause).join('; ');
}
