import type { ServerResponse } from 'node:http';
import { errorHeaders } from '../src/errors/error-headers.ts';
import { createItemSerializer, type ErrorItem } from '../src/errors/error-items.ts';
import { type GatewayError, httpStatus } from '../src/errors/gateway-errors.ts';
import { sendJson } from './send-json.ts';

/** The `ErrorResponse` of the specification. */
type ErrorResponse = {
  error: string;
  code: string;
  errors?: ErrorItem[];
};

/** Converts an error to the body of a reply. `ORG_MEMBERSHIP_REQUIRED` has no `errors`, as in the specification. */
export function toErrorResponse(error: GatewayError): ErrorResponse {
  const body = { error: error.message, code: error.code.toLowerCase() };
  return error.code === 'ORG_MEMBERSHIP_REQUIRED' ? body : { ...body, errors: createItemSerializer()(error) };
}

/** Sends an error: its status, headers and body. */
export function sendError(response: ServerResponse, error: GatewayError): void {
  for (const [name, value] of Object.entries(errorHeaders(error))) response.setHeader(name, value);
  sendJson(response, httpStatus[error.code], toErrorResponse(error));
}
