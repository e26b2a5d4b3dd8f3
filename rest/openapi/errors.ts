import { z } from 'zod';
import type { Access } from '../../src/auth/access.ts';
import { type ErrorCode, httpStatus } from '../../src/errors/gateway-errors.ts';
import { listSources } from '../binding.ts';
import type { Route } from '../route.ts';
import { pickExamples } from './examples.ts';
import { type Header, headerRefs, quota } from './headers.ts';
import { type Json, reference } from './schemas.ts';

/** `GOING_AWAY` ends live streams, which this face has not. */
const codes = Object.keys(httpStatus)
  .filter((code) => code !== 'GOING_AWAY')
  .map((code) => code.toLowerCase());

const message = z.string().min(1).describe('What is wrong, in words.');

const fault = z
  .strictObject({
    location: z.string().describe('Where: `body.preferences[0].email_enabled`, `path.id`, `query.limit`.'),
    message: z.string().describe('Which rule is broken: `must be a boolean`.'),
    value: z
      .unknown()
      .describe(
        'What was sent; null where nothing was, `[redacted]` for a credential and what contains one.',
      ),
  })
  .meta({ id: 'ErrorItem', description: 'One broken rule.' });

/** ErrorResponse of the specification, with the closed list of codes. */
const errorResponse = z
  .strictObject({
    error: message,
    code: z.enum(codes).optional().describe('The machine-readable code; always there.'),
    errors: z
      .array(fault)
      .optional()
      .describe('What is wrong, at most 100 items. Omitted only with `org_membership_required`.'),
  })
  .meta({ id: 'ErrorResponse', description: 'The body of every error.' });

const membershipRequired = z
  .strictObject({ error: message, code: z.literal('org_membership_required').describe('The code.') })
  .meta({ id: 'OrgMembershipRequired', description: "The token's user belongs to no organization." });

/** The shapes of errors, to be made components. */
export const errorShapes = { errorResponse, membershipRequired };

/** When each code is answered; platform operations and live streams, which have no REST path, have one more each. */
const descriptions: Readonly<Record<Exclude<ErrorCode, 'CONFLICT' | 'GOING_AWAY'>, string>> = {
  BAD_REQUEST:
    'The request cannot be read: a body that is not JSON, not UTF-8, empty, over 1 MiB or without ' +
    '`Content-Type: application/json`; an invalid query parameter; an address that cannot be decoded; malformed HTTP.',
  UNAUTHENTICATED: 'No token, or one that does not hold. The body does not say which check failed.',
  ORG_MEMBERSHIP_REQUIRED: "The token's user belongs to no organization; this body has no `errors`.",
  FORBIDDEN: 'The token lacks the scope.',
  NOT_FOUND: "There is no such record, or it is someone else's: the same body for both.",
  VALIDATION_FAILED:
    'The body or a path parameter breaks a rule. All errors are listed, up to 100, each with its location.',
  RATE_LIMITED: 'Too many requests of this user. Wait for the seconds of `Retry-After`.',
  INTERNAL_ERROR: 'Anything else. The log has the reason under the `X-Request-Id`.',
};

type Code = keyof typeof descriptions;

const everyRoute: readonly Code[] = [
  'BAD_REQUEST',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
];

/** The codes that a route may answer, by status. A record is looked up where the path names one. */
export function errorCodesByStatus({ bind, body }: Route, { membership }: Access): Map<number, Code[]> {
  const namesRecord = listSources(bind).some(({ from }) => from === 'path');
  const codes: readonly Code[] = [
    ...everyRoute,
    ...(membership ? (['ORG_MEMBERSHIP_REQUIRED'] as const) : []),
    ...(namesRecord ? (['NOT_FOUND'] as const) : []),
    ...(namesRecord || body ? (['VALIDATION_FAILED'] as const) : []),
  ];
  return Map.groupBy(codes, (code) => httpStatus[code]);
}

/** What a component for these codes is called: `ForbiddenOrOrgMembershipRequired`. */
export function componentName(codes: readonly Code[]): string {
  return codes
    .map((code) =>
      code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
    )
    .join('Or');
}

/** The schemas of the bodies: `ErrorResponse`, narrowed to a code. */
export function errorSchemas(codes: readonly Code[]): Json {
  const narrowed = codes.filter((code) => code !== 'ORG_MEMBERSHIP_REQUIRED');
  return Object.fromEntries(narrowed.map((code) => [componentName([code]), narrow(code)]));
}

function narrow(code: Code): Json {
  const own = {
    type: 'object',
    properties: {
      code: { const: code.toLowerCase() },
      errors: { type: 'array', items: reference('schemas', 'ErrorItem') },
    },
    required: ['code', 'errors'],
  };
  return { description: descriptions[code], allOf: [reference('schemas', 'ErrorResponse'), own] };
}

/** The response for the codes of one status. */
export function describeErrors(codes: readonly Code[]): Json {
  const schemas = codes.map((code) => reference('schemas', componentName([code])));
  return {
    description: codes.map((code) => descriptions[code]).join(' '),
    headers: headerRefs(...codes.flatMap(headersWith)),
    content: {
      'application/json': {
        schema: schemas.length === 1 ? schemas[0] : { oneOf: schemas },
        examples: pickExamples(...codes.map((code) => code.toLowerCase())),
      },
    },
  };
}

function headersWith(code: Code): Header[] {
  switch (code) {
    case 'UNAUTHENTICATED':
      return ['WWW-Authenticate'];
    case 'FORBIDDEN':
      return ['WWW-Authenticate', ...quota];
    case 'RATE_LIMITED':
      return ['Retry-After', ...quota];
    case 'BAD_REQUEST':
    case 'ORG_MEMBERSHIP_REQUIRED':
    case 'NOT_FOUND':
    case 'VALIDATION_FAILED':
    case 'INTERNAL_ERROR':
      return [...quota];
  }
}
