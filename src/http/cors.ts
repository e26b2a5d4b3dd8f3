import cors from 'cors';
import type { Step } from './steps.ts';

/** What a page of another origin may read beside the body. */
const EXPOSED = [
  'ETag',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-Request-Id',
];

/** A browser may remember the answer to its question for so long. */
const MAX_AGE_SECONDS = 600;

/**
 * Lets pages of exactly these origins call the gateway (Fetch, section 3.3). Any other origin is answered as if
 * there were no such thing: the browser then keeps the reply from the page.
 */
export function allowOrigins(origins: readonly string[]): Step {
  const allowed = new Set(origins);
  const handle = cors({
    origin: [...origins],
    methods: ['GET', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: ['Authorization', 'Content-Type', 'If-None-Match', 'X-Request-Id'],
    exposedHeaders: EXPOSED,
    maxAge: MAX_AGE_SECONDS,
  });
  return (request, response, next) => {
    if (allowed.has(request.headers.origin ?? '')) {
      handle(request, response, next);
      return;
    }
    // Caches must keep the replies to different origins apart.
    if (allowed.size > 0) response.appendHeader('Vary', 'Origin');
    next();
  };
}
