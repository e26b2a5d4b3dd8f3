import { z } from 'zod';
import type { ErrorCode } from '../../src/errors/gateway-errors.ts';

/** When each code is answered; platform operations and live streams, which have no REST path, have one more each. */
export const errorDescriptions: Readonly<Record<Exclude<ErrorCode, 'CONFLICT' | 'GOING_AWAY'>, string>> = {
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

/** A code that a REST path may reply with. */
export type Code = keyof typeof errorDescriptions;

const message = z.string().min(1).describe('What is wrong, in words.');

const item = z
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

/**
 * ErrorResponse of the specification for one code: without membership it has no `errors`. Every code has a whole schema
 * of its own, because generators of clients do not narrow a shared one.
 */
function createErrorShape(code: Code) {
  const errors = z.array(item).describe('All errors of the first check that fails, at most 100.');
  return z
    .strictObject({
      error: message,
      code: z.literal(code.toLowerCase()).describe('The machine-readable code.'),
      ...(code !== 'ORG_MEMBERSHIP_REQUIRED' && { errors }),
    })
    .meta({ id: componentName([code]), description: errorDescriptions[code] });
}

const forbidden = createErrorShape('FORBIDDEN');
const membershipRequired = createErrorShape('ORG_MEMBERSHIP_REQUIRED');

/** The bodies of errors. */
export const errorShapes = {
  badRequest: createErrorShape('BAD_REQUEST'),
  unauthenticated: createErrorShape('UNAUTHENTICATED'),
  forbidden,
  membershipRequired,
  forbiddenOrMembershipRequired: z.discriminatedUnion('code', [forbidden, membershipRequired]).meta({
    id: componentName(['FORBIDDEN', 'ORG_MEMBERSHIP_REQUIRED']),
    description: 'The token lacks the scope, or its user belongs to no organization.',
  }),
  notFound: createErrorShape('NOT_FOUND'),
  validationFailed: createErrorShape('VALIDATION_FAILED'),
  rateLimited: createErrorShape('RATE_LIMITED'),
  internalError: createErrorShape('INTERNAL_ERROR'),
};

/** The name of the component for the codes of one status: `ForbiddenOrOrgMembershipRequired`. */
export function componentName(codes: readonly Code[]): string {
  return codes.map((code) => toPascalCase(code.toLowerCase())).join('Or');
}

/** The name of a type: `dismissNotification` and `not_found` are `DismissNotification` and `NotFound`. */
export function toPascalCase(name: string): string {
  return name.replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
