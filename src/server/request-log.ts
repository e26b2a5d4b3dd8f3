import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { RequestRecord } from '../context.ts';
import type { Log } from '../log.ts';

/** A request whose reply was sent or whose caller disconnected. */
export type CompletedRequest = Pick<RequestRecord, 'operations' | 'failures'> & {
  method: string;
  /** Percent-encoded, as sent. */
  path: string;
  /** Undefined if the caller disconnected before the reply began. */
  status: number | undefined;
  seconds: number;
};

/** The paths of frequent health checks and scrapes. */
const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

/** The paths of unsubscribe links, whose token is a credential. Also matches misspelled ones. */
const TOKEN_PATH = /^(\/unsubscribe\/).*/i;

/**
 * Creates the first step of every request. It opens the record of the request, with an ID and a log, and logs one line
 * when the request is complete. A valid `X-Request-Id` of the caller becomes the ID. Calls `onComplete` for each request.
 */
export function recordRequests(log: Log, onComplete: (request: CompletedRequest) => void): RequestHandler {
  return (request, response, next) => {
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
    // The path is without the query, which may contain secrets.
    const { method, path } = request;
    response.once('close', () => {
      const milliseconds = performance.now() - started;
      const status = response.headersSent ? response.statusCode : undefined;
      const { operations, failures } = record;
      onComplete({ method, path, status, seconds: milliseconds / 1000, operations, failures });
      record.log[PROBES.has(path) ? 'debug' : 'info'](
        {
          method,
          path: path.replace(TOKEN_PATH, '$1{token}'),
          operation: [...operations].join(',') || undefined,
          user: record.user,
          status,
          durationMs: Math.round(milliseconds),
          ...(!response.writableFinished && { aborted: true }),
        },
        'request',
      );
    });
    response.locals.record = record;
    next();
  };
}
