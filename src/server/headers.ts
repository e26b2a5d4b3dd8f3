import cors from 'cors';
import type { RequestHandler } from 'express';
import helmet from 'helmet';
import { headerValues } from '../auth/authenticate.ts';
import type { Log } from '../log.ts';
import { toLine, truncate } from '../values/text.ts';
import { createMalformedError } from './malformed-requests.ts';

/** Sets security headers. The content security policy blocks everything; pages override it. */
export const setSecurityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
});

/** How much of a refused origin is logged. */
const MAX_LOGGED_ORIGIN = 200;

/**
 * Allows pages of these origins to call the gateway (Fetch, section 3.3). Other origins receive no CORS headers. The
 * first preflight request that is refused is logged, because browsers do not show pages why a request failed.
 */
export function allowOrigins(origins: readonly string[], log: Log): RequestHandler {
  const allowed = new Set(origins);
  const handle = cors({
    origin: [...origins],
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'Authorization',
      'Content-Type',
      'If-None-Match',
      'X-Request-Id',
      // Added by the tracing of web apps (W3C Trace Context and Baggage).
      'traceparent',
      'tracestate',
      'baggage',
    ],
    exposedHeaders: 'ETag,Link,Retry-After,RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset,X-Request-Id',
    // How long browsers may cache a preflight reply, in seconds.
    maxAge: 600,
  });
  let hasLoggedRefusal = false;
  return (request, response, next) => {
    const { origin = '' } = request.headers;
    if (allowed.has(origin)) return handle(request, response, next);
    // Only once, so that requests without a token cannot fill the log.
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (!hasLoggedRefusal && isPreflight && origin !== '') {
      hasLoggedRefusal = true;
      log.warn(
        { origin: truncate(toLine(origin), MAX_LOGGED_ORIGIN) },
        'refused a CORS preflight request: to allow the origin, add it to CORS_ORIGINS; further ones are not logged',
      );
    }
    // Caches must store a reply for each origin.
    if (allowed.size > 0) response.appendHeader('Vary', 'Origin');
    next();
  };
}

/**
 * Requires one valid Host header, which only HTTP/1.0 may omit (RFC 9112, section 3.2). The check of Node.js would reply
 * without a body. Reduces an absolute URL in place of the path (section 3.2.2), which Yoga does not support.
 * @throws {BadRequestError}
 */
export const checkTarget: RequestHandler = (request, _response, next) => {
  const [host, ...others] = headerValues(request, 'host');
  if (others.length > 0) throw createMalformedError('has more than one Host header');
  if (host === undefined && request.httpVersion === '1.1') throw createMalformedError('has no Host header');
  // Empty if the target has no authority.
  if (host && !(HOST.test(host) && URL.canParse(`http://${host}`)))
    throw createMalformedError('has an invalid Host header');
  const target = request.url.replace(ORIGIN, '');
  if (target !== request.url) {
    request.url = target.startsWith('/') ? target : `/${target}`;
    request.originalUrl = request.url;
  }
  next();
};

/** The beginning of an absolute URL. Its path may be empty. */
const ORIGIN = /^https?:\/\/[^/?]*/i;

/** A host without the delimiters of other parts of a URL. */
const HOST = /^[^\s/?#@\\]+$/;
