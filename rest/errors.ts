import type { ServerResponse } from 'node:http';
import { createItemWriter, type ErrorItem } from '../src/errors/error-items.ts';
import { errorHeaders, type GatewayError, httpStatus } from '../src/errors/gateway-errors.ts';
import { sendText } from '../src/http/reply.ts';

/** ErrorResponse of the specification. */
type ErrorResponse = {
  error: string;
  code: string;
  errors?: ErrorItem[];
};

/** The body of an error; without membership it has no `errors`, as the specification shows it. */
export function errorResponse(error: GatewayError): ErrorResponse {
  const body = { error: error.message, code: error.code.toLowerCase() };
  return error.code === 'ORG_MEMBERSHIP_REQUIRED' ? body : { ...body, errors: createItemWriter()(error) };
}

/** Answers an error: its status, its body, and the headers that go with it. */
export function sendError(response: ServerResponse, error: GatewayError): void {
  for (const [name, value] of Object.entries(errorHeaders(error))) response.setHeader(name, value);
  sendJson(response, httpStatus[error.code], errorResponse(error));
}

/**
 * Answers JSON, or nothing with 204 and 304. Express's own way would answer 304 to `If-None-Match: *`, which this
 * face does not mean.
 */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (status === 204 || status === 304) response.writeHead(status).end();
  else sendText(response, status, 'application/json', JSON.stringify(body));
}
