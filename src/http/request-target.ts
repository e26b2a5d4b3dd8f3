import type { IncomingMessage } from 'node:http';

/** Returns the path of a request, still percent-encoded. The target may be an absolute URL (RFC 9112, section 3.2). */
export function requestPath({ url = '' }: IncomingMessage): string {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  return path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '');
}

/** Returns the query of a request: everything after the first question mark (RFC 3986, section 3.4). */
export function requestQuery({ url = '' }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}
