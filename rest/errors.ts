import type { ServerResponse } from 'node:http';
import { createItemSerializer } from '../src/errors/error-items.ts';
import { errorHeaders, type GatewayError, httpStatus } from '../src/errors/gateway-errors.ts';
import { sendText } from '../src/http/messages.ts';

/** Converts an error to the `ErrorResponse` of the specification, where `ORG_MEMBERSHIP_REQUIRED` has no `errors`. */
export function toErrorResponse(error: GatewayError) {
  const body = { error: error.message, code: error.code.toLowerCase() };
  return error.code === 'ORG_MEMBERSHIP_REQUIRED' ? body : { ...body, errors: createItemSerializer()(error) };
}

/** Sends an error: its status, headers and body. */
export function sendError(response: ServerResponse, error: GatewayError): void {
  response.setHeaders(new Map(Object.entries(errorHeaders(error))));
  sendJson(response, httpStatus[error.code], toErrorResponse(error));
}

/**
 * Sends JSON, or no body with 204 and 304. Express is not used for it, because it would reply 304 to `If-None-Match: *`
 * on any path; only lists may reply 304.
 */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (status === 204 || status === 304) response.writeHead(status).end();
  else sendText(response, status, 'application/json', JSON.stringify(body));
}
