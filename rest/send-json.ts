import type { ServerResponse } from 'node:http';
import { sendText } from '../src/http/send-text.ts';

/**
 * Sends JSON, or no body with 204 and 304. Express is not used for it, because it would reply 304 to `If-None-Match: *`
 * on any path; only lists may reply 304.
 */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (status === 204 || status === 304) response.writeHead(status).end();
  else sendText(response, status, 'application/json', JSON.stringify(body));
}
