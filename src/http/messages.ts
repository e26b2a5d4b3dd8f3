import type { IncomingMessage, ServerResponse } from 'node:http';
import { closestMatch } from 'leven';
import type { ValidationIssue } from '../errors/issue.ts';

/** Returns the query of a request: everything after the first question mark (RFC 3986, section 3.4). */
export function requestQuery({ url = '' }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}

/** Longer names of parameters are compared by their start. */
const MAX_COMPARED = 32;

/** Finds the parameters of a query whose names are not known, and names the nearest known one of each. */
export function findUnknownParameters(names: readonly string[], sent: URLSearchParams): ValidationIssue[] {
  const unknown = [...new Set(sent.keys())].filter((name) => !names.includes(name));
  return unknown.map((name) => {
    const nearest = closestMatch(name.toLowerCase().slice(0, MAX_COMPARED), names);
    const hint = nearest === undefined ? 'this path has none' : `the nearest is ${nearest}`;
    const message = `is not a known parameter; ${hint}`;
    const values = sent.getAll(name);
    const value = values.length > 1 ? values : values[0];
    return { path: ['query', name], message, value, unknownKeyCount: 1 };
  });
}

/** Converts a path template (`/user/notifications/{id}`) to a case-sensitive pattern. Parameters may be empty. */
export function toPattern(template: string): RegExp {
  // Without capturing groups, Express does not decode parameters; an invalid encoding is reported after authentication.
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]*')}$`);
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
 * Sends JSON, or no body with 204 and 304. Express is not used for it, because it would reply 304 to `If-None-Match: *`
 * on any path; only lists may reply 304.
 */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (status === 204 || status === 304) response.writeHead(status).end();
  else sendText(response, status, 'application/json', JSON.stringify(body));
}

/**
 * Whether a header `If-None-Match` contains an entity tag, by weak comparison (RFC 9110, section 13.1.2). An empty one
 * contains none.
 */
export function matchesEntityTag(header: string, etag: string): boolean {
  const known = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes('*') || known.includes(etag);
}
