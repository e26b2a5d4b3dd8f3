import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '../errors/gateway-errors.ts';
import type { Log } from '../log.ts';
import { requestPath } from './address.ts';

/** An error in a reply: of a root field, or without one of the whole request. */
export type Failure = { readonly field?: string; readonly code: ErrorCode };

/** What the log tells of a request once it is answered; filled in while it is served. */
export type RequestRecord = {
  readonly id: string;
  readonly log: Log;
  user?: string;
  /** The root fields that were asked for. */
  readonly operations: Set<string>;
  /** What callers were told that failed. */
  readonly failures: Failure[];
};

/** A request that was answered, or whose caller has left. */
export type AnsweredRequest = Pick<RequestRecord, 'operations' | 'failures'> & {
  method: string;
  /** The address's path, as it was sent. */
  path: string;
  /** Undefined where the caller left before the reply began. */
  status: number | undefined;
  seconds: number;
};

/** Gives every request an id and a log of its own, and writes one line when it is answered. */
export type OpenRecord = (request: IncomingMessage, response: ServerResponse) => RequestRecord;

/**
 * The request log. An id that the caller gives is taken over if it is a sane one. `onAnswered` is told of every
 * request as well.
 */
export function createRequestLog(log: Log, onAnswered: (request: AnsweredRequest) => void): OpenRecord {
  return (request, response) => {
    const started = performance.now();
    const given = request.headers['x-request-id'];
    const id = typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
    response.setHeader('X-Request-Id', id);
    const record: RequestRecord = {
      id,
      log: log.child({ requestId: id }),
      operations: new Set(),
      failures: [],
    };
    // The address's path only: a query may hold anything.
    const path = requestPath(request);
    const { method = '' } = request;
    response.once('close', () => {
      const milliseconds = performance.now() - started;
      // Of a caller who left before the reply began no status can be told.
      const status = response.headersSent ? response.statusCode : undefined;
      const { operations, failures } = record;
      onAnswered({ method, path, status, seconds: milliseconds / 1000, operations, failures });
      record.log[isProbe(path) ? 'debug' : 'info'](
        {
          method,
          path,
          operation: [...operations].join(',') || undefined,
          user: record.user,
          status,
          durationMs: Math.round(milliseconds),
          ...(!response.writableFinished && { aborted: true }),
        },
        'request',
      );
    });
    return record;
  };
}

/** Probes come every few seconds and tell nothing. */
function isProbe(path: string): boolean {
  return path === '/healthz' || path === '/readyz' || path === '/metrics';
}
