import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { RequestRecord } from '../context.ts';
import { toPattern } from '../http/messages.ts';
import type { Log } from '../log.ts';

/** A request whose reply was sent or whose caller disconnected. */
export type CompletedRequest = Pick<RequestRecord, 'operations' | 'failures' | 'published' | 'answered'> & {
  method: string;
  /** The template of the path; undefined if no endpoint has this path. */
  route: string | undefined;
  /** Undefined if the caller disconnected before the reply began. */
  status: number | undefined;
  seconds: number;
};

/** The paths of frequent health checks and scrapes. */
const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

/** A path without percent-encoded or other unusual characters. */
const PLAIN = /^[\w.~/-]*$/;

/**
 * Returns what the log contains of a path: the path itself only if an endpoint has it and it cannot contain a token. A
 * misspelled unsubscribe link matches no endpoint, but its token is valid.
 */
function toLoggedPath(path: string, route: string | undefined): string {
  if (route === undefined) return '(unmatched)';
  return PLAIN.test(path) && !route.includes('{token}') ? path : route;
}

/** The maximum number of published notifications that a line names, so that a batch does not make it long. */
const MAX_PUBLISHED = 10;

/**
 * Creates the first step of every request. It opens the record of the request, with an ID and a log, and logs one line
 * when the request is complete. A valid `X-Request-Id` of the caller becomes the ID. Calls `onComplete` for each request.
 * `nameRoute` returns the template of a path.
 */
export function recordRequests(
  log: Log,
  nameRoute: (path: string) => string | undefined,
  onComplete: (request: CompletedRequest) => void,
): RequestHandler {
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
      published: [],
      answered: [],
    };
    // The path is without the query, which may contain secrets.
    const { method, path } = request;
    response.once('close', () => {
      const milliseconds = performance.now() - started;
      const status = response.headersSent ? response.statusCode : undefined;
      const { operations, failures, published, answered } = record;
      const route = nameRoute(path);
      const seconds = milliseconds / 1000;
      onComplete({ method, route, status, seconds, operations, failures, published, answered });
      record.log[PROBES.has(path) ? 'debug' : 'info'](
        {
          method,
          path: toLoggedPath(path, route),
          operation: [...operations].join(',') || undefined,
          user: record.user,
          ...(published.length > 0 && {
            published: published
              .slice(0, MAX_PUBLISHED)
              .map(({ user, notification }) => ({ user, notification })),
            publishedCount: published.length,
          }),
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

/** Creates a function that maps a path to its template, so that IDs and unknown paths do not become metric labels. */
export function createRouteNames(templates: readonly string[]): (path: string) => string | undefined {
  const plain = new Set(templates.filter((template) => !template.includes('{')));
  const patterns = templates
    .filter((template) => !plain.has(template))
    .map((template) => ({ template, pattern: toPattern(template) }));
  return (path) => (plain.has(path) ? path : patterns.find(({ pattern }) => pattern.test(path))?.template);
}
