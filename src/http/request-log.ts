import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '../errors/gateway-errors.ts';
import type { Log } from '../log.ts';
import { requestPath } from './request-target.ts';

/** An error in a reply: of one root field, or of the whole request if `field` is undefined. */
export type RequestFailure = { readonly field?: string; readonly code: ErrorCode };

/** What the log line and the metrics need of a request, collected while it is handled. */
export type RequestRecord = {
  readonly id: string;
  readonly log: Log;
  user?: string;
  /** The requested root fields. */
  readonly operations: Set<string>;
  /** The errors in the reply. */
  readonly failures: RequestFailure[];
};

/** A request whose reply was sent or whose caller disconnected. */
export type CompletedRequest = Pick<RequestRecord, 'operations' | 'failures'> & {
  method: string;
  /** Percent-encoded, as sent. */
  path: string;
  /** Undefined if the caller disconnected before the reply began. */
  status: number | undefined;
  seconds: number;
};

/** The paths of unsubscribe links, whose token is a credential. Also matches misspelled ones. */
const TOKEN_PATH = /^(\/unsubscribe\/).*/i;

/** Opens the record of a request with an ID and a log, and logs one line when the request is complete. */
export type OpenRecord = (request: IncomingMessage, response: ServerResponse) => RequestRecord;

/**
 * Creates the request log. A valid `X-Request-Id` of the caller becomes the ID. Calls `onComplete` for each request.
 */
export function createRequestLog(log: Log, onComplete: (request: CompletedRequest) => void): OpenRecord {
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
    // Without the query, which may contain secrets.
    const path = requestPath(request);
    const { method = '' } = request;
    response.once('close', () => {
      const milliseconds = performance.now() - started;
      const status = response.headersSent ? response.statusCode : undefined;
      const { operations, failures } = record;
      onComplete({ method, path, status, seconds: milliseconds / 1000, operations, failures });
      record.log[isProbe(path) ? 'debug' : 'info'](
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
    return record;
  };
}

/** Whether a request is one of the frequent health checks and scrapes. */
function isProbe(path: string): boolean {
  return path === '/healthz' || path === '/readyz' || path === '/metrics';
}
