import type { IncomingMessage, ServerResponse } from 'node:http';

/** Returns the query of a request: everything after the first question mark (RFC 3986, section 3.4). */
export function requestQuery({ url = '' }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}

/** Converts a path template (`/user/notifications/{id}`) to a case-sensitive pattern. Parameters may be empty. */
export function toPattern(template: string): RegExp {
  // Without capturing groups, Express does not decode parameters; an invalid encoding is reported after authentication.
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]*')}$`);
}

/** Creates a function that maps a path to its template, so that IDs and unknown paths do not become metric labels. */
export function createRouteNames(templates: readonly string[]): (path: string) => string | undefined {
  const plain = new Set(templates.filter((template) => !template.includes('{')));
  const patterns = templates
    .filter((template) => !plain.has(template))
    .map((template) => ({ template, pattern: toPattern(template) }));
  return (path) => (plain.has(path) ? path : patterns.find(({ pattern }) => pattern.test(path))?.template);
}

/** Sends a UTF-8 reply. Node.js writes headers and body together because the body is a string. */
export function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

/**
 * Whether a header `If-None-Match` contains an entity tag, by weak comparison (RFC 9110, section 13.1.2). An empty one
 * contains none.
 */
export function matchesEntityTag(header: string, etag: string): boolean {
  const known = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes('*') || known.includes(etag);
}
