import type { IncomingMessage } from 'node:http';

/** The path of a request's address, encoded as it was sent; proxies may send the whole address (RFC 9112, section 3.2). */
export function requestPath({ url = '' }: IncomingMessage): string {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  return path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '');
}

/** The query of a request's address: all that follows the first question mark (RFC 3986, section 3.4). */
export function requestQuery({ url = '' }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}
