import type { IncomingMessage, ServerResponse } from 'node:http';
import { createMalformedError } from './malformed-error.ts';

/**
 * Requires one Host header, which only HTTP/1.0 may omit (RFC 9112, section 3.2). The check of Node.js would reply
 * without a body.
 * @throws {BadRequestError}
 */
export function checkHost(
  { httpVersion, headersDistinct: { host = [] } }: IncomingMessage,
  _response: ServerResponse,
  next: () => void,
): void {
  if (host.length > 1) throw createMalformedError('has more than one Host header');
  if (host.length === 0 && httpVersion === '1.1') throw createMalformedError('has no Host header');
  next();
}
