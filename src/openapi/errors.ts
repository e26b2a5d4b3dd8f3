import { z } from 'zod';
import { getOperationId, listSources, type Route } from '../../rest/route.ts';
import type { Access } from '../auth/access.ts';
import { type ErrorCode, httpStatus } from '../errors/gateway-errors.ts';
import { describeJson, type Header, toHeaderRefs } from './responses.ts';
import { type Json, referenceComponent } from './schemas.ts';

/** The cause of each code. `GOING_AWAY` belongs to operations without a REST path. */
export const errorDescriptions: Readonly<Record<Exclude<ErrorCode, 'GOING_AWAY'>, string>> = {
  BAD_REQUEST:
    'The request is malformed: its body is not JSON or not UTF-8, is empty, is larger than 1 MiB, is nested too deeply, ' +
    'has an unsupported `Content-Encoding` or is sent without `Content-Type: application/json`; a query parameter is ' +
    'invalid; the path cannot be decoded; or the HTTP syntax is invalid.',
  UNAUTHENTICATED: 'The token is missing or invalid. The body does not say which check failed.',
  ORG_MEMBERSHIP_REQUIRED: 'The token names no organization. This body has no `errors`.',
  FORBIDDEN: 'The token lacks the required scope.',
  NOT_FOUND: 'The record does not exist or belongs to another user. The body is the same for both.',
  CONFLICT: 'The operation conflicts with what is stored. `errors` says with what.',
  VALIDATION_FAILED:
    'The body or a path parameter breaks a rule. `errors` lists up to 100 errors, together at most 120 KiB, each with its location.',
  RATE_LIMITED:
    'The rate limit is exceeded, or the unfinished bodies of the caller have 2 MiB. Retry after the number of seconds in `Retry-After`.',
  INTERNAL_ERROR: "An internal error. The cause is logged with the reply's `X-Request-Id`.",
};

/** A code that a REST path can return. */
type Code = keyof typeof errorDescriptions;

/**
 * The headers of each code besides those of every response, which the introduction describes: client generators write
 * a parser for each header of each response.
 */
const codeHeaders: Partial<Record<Code, readonly Header[]>> = {
  UNAUTHENTICATED: ['WWW-Authenticate'],
  FORBIDDEN: ['WWW-Authenticate'],
  RATE_LIMITED: ['Retry-After'],
};

const item = z
  .strictObject({
    location: z
      .string()
      .describe(
        'The place in the request, such as `body.preferences[0].email_enabled`, `path.id` or `query.limit`.',
      ),
    message: z.string().describe('The rule that the value breaks, such as `must be a boolean`.'),
    value: z
      .unknown()
      .describe(
        'The value that was sent, or with `conflict` what is stored. `null` if nothing was sent or the whole body is rejected with 400, `[redacted]` if the value may contain a credential.',
      ),
  })
  .meta({ id: 'ErrorItem', description: 'A validation error.' });

const errorCode = z.enum(Object.keys(errorDescriptions).map((code) => code.toLowerCase())).meta({
  id: 'ErrorCode',
  description: 'The machine-readable code of an error, from a fixed list.',
});

/** The `ErrorResponse` of the specification, the body of every error. */
export const errorResponse = z
  .strictObject({
    error: z.string().min(1).describe('Human-readable message.'),
    code: errorCode,
    errors: z
      .array(item)
      .optional()
      .describe(
        'All errors of the first check that failed, up to 100, together at most 120 KiB. Empty if the code says all, ' +
          'omitted with `org_membership_required`.',
      ),
  })
  .meta({ id: 'ErrorResponse', description: 'The body of every error.' });

/** Describes the error responses of a route, by status. */
export function describeErrors(route: Route, access: Access): Json {
  const byStatus = Map.groupBy(listCodes(route, access), (code) => httpStatus[code]);
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, describeError(route, codes)]));
}

/** Lists the codes that a route can return. Only routes with a path parameter can return `NOT_FOUND`. */
function listCodes({ bind, body, reply }: Route, { membership }: Access): readonly Code[] {
  const namesRecord = listSources(bind).some(({ from }) => from === 'path');
  return [
    'BAD_REQUEST',
    'UNAUTHENTICATED',
    'FORBIDDEN',
    'RATE_LIMITED',
    'INTERNAL_ERROR',
    ...(membership ? (['ORG_MEMBERSHIP_REQUIRED'] as const) : []),
    ...(namesRecord ? (['NOT_FOUND'] as const) : []),
    ...(reply.union ? (['CONFLICT'] as const) : []),
    ...(namesRecord || body ? (['VALIDATION_FAILED'] as const) : []),
  ];
}

/** Describes a route's error response for one status, with its examples. */
function describeError(route: Route, codes: readonly Code[]): Json {
  const words = codes.map((code) => code.toLowerCase());
  const examples = words.flatMap((code) => [`${getOperationId(route)}.${code}`, code]);
  const headers = codes.flatMap((code) => codeHeaders[code] ?? []);
  return {
    description: codes.map((code) => `\`${code.toLowerCase()}\`: ${errorDescriptions[code]}`).join(' '),
    ...(headers.length > 0 && { headers: toHeaderRefs(...headers) }),
    content: describeJson(referenceComponent(errorResponse), ...examples),
  };
}
