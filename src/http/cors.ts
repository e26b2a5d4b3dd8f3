import cors from 'cors';
import type { Step } from './steps.ts';

/** Response headers that pages of allowed origins may read. */
const EXPOSED_HEADERS = [
  'ETag',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-Request-Id',
];

/** How long browsers may cache a preflight reply. */
const MAX_AGE_SECONDS = 600;

/** Allows pages of these origins to call the gateway (Fetch, section 3.3). Other origins receive no CORS headers. */
export function allowOrigins(origins: readonly string[]): Step {
  const allowed = new Set(origins);
  const handle = cors({
    origin: [...origins],
    methods: ['GET', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: ['Authorization', 'Content-Type', 'If-None-Match', 'X-Request-Id'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: MAX_AGE_SECONDS,
  });
  return (request, response, next) => {
    if (allowed.has(request.headers.origin ?? '')) {
      handle(request, response, next);
      return;
    }
    // Caches must store a reply for each origin.
    if (allowed.size > 0) response.appendHeader('Vary', 'Origin');
    next();
  };
}
