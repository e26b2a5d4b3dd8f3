import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../log.ts';

/** What the log tells of a request once it is answered; filled in while it is served. */
export type RequestRecord = {
  readonly id: string;
  readonly log: Log;
  user?: string;
  /** The root fields that were asked for. */
  readonly operations: Set<string>;
};

/** Gives every request an id and a log of its own, and writes one line when it is answered. */
export type OpenRecord = (request: IncomingMessage, response: ServerResponse) => RequestRecord;

/** The request log. An id that the caller gives is taken over if it is a sane one. */
export function createRequestLog(log: Log): OpenRecord {
  return (request, response) => {
    const started = performance.now();
    const given = request.headers['x-request-id'];
    const id = typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
    response.setHeader('X-Request-Id', id);
    const record: RequestRecord = { id, log: log.child({ requestId: id }), operations: new Set() };
    // The address's path only: a query may hold anything.
    const [path] = (request.url ?? '').split('?', 1);
    response.once('close', () => {
      record.log[isProbe(path) ? 'debug' : 'info'](
        {
          method: request.method,
          path,
          operation: [...record.operations].join(',') || undefined,
          user: record.user,
          // Of a caller who left before the reply began no status can be told.
          status: response.headersSent ? response.statusCode : undefined,
          durationMs: Math.round(performance.now() - started),
          ...(!response.writableFinished && { aborted: true }),
        },
        'request',
      );
    });
    return record;
  };
}

/** Probes come every few seconds and tell nothing. */
function isProbe(path: string | undefined): boolean {
  return path === '/healthz' || path === '/readyz';
}
