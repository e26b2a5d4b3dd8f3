import type { ServerResponse } from 'node:http';
import { createItemSerializer } from '../src/errors/error-items.ts';
import { errorHeaders, type GatewayError, httpStatus } from '../src/errors/gateway-errors.ts';
import { sendJson } from '../src/http/messages.ts';

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
