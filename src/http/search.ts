import type { Request } from 'express';

/** The query of a request's address: all that follows the first question mark (RFC 3986, section 3.4). */
export function searchOf({ originalUrl }: Request): URLSearchParams {
  const mark = originalUrl.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : originalUrl.slice(mark + 1));
}
