import cors from 'cors';
import type { RequestHandler } from 'express';
import helmet from 'helmet';
import { createMalformedError } from './malformed-requests.ts';

/** Sets security headers. The content security policy blocks everything; pages override it. */
export const setSecurityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
});

/** Allows pages of these origins to call the gateway (Fetch, section 3.3). Other origins receive no CORS headers. */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  const allowed = new Set(origins);
  const handle = cors({
    origin: [...origins],
    methods: ['GET', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: ['Authorization', 'Content-Type', 'If-None-Match', 'X-Request-Id'],
    exposedHeaders: 'ETag,Retry-After,RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset,X-Request-Id',
    // How long browsers may cache a preflight reply, in seconds.
    maxAge: 600,
  });
  return (request, response, next) => {
    if (allowed.has(request.headers.origin ?? '')) return handle(request, response, next);
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
  const [host, ...others] = request.headersDistinct.host ?? [];
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
