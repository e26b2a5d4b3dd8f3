import type { IncomingMessage } from 'node:http';

/** The query of a request's address: all that follows the first question mark (RFC 3986, section 3.4). */
export function searchOf({ url = '' }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}
