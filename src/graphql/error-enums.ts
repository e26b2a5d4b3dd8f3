import { conflictReasons, type ErrorCode } from '../errors/gateway-errors.ts';
import { builder } from './builder.ts';

/* The types of values in `extensions` of errors. No field has them, but clients can generate code from them. */

const descriptions: Readonly<Record<ErrorCode, string>> = {
  BAD_REQUEST: 'The request cannot be read or is too large, or its document is invalid or too costly.',
  UNAUTHENTICATED: 'The token is missing or invalid.',
  ORG_MEMBERSHIP_REQUIRED: 'The token names no organization.',
  FORBIDDEN: 'The token lacks the required scope.',
  NOT_FOUND: 'The record does not exist, or belongs to another user.',
  CONFLICT:
    'The operation conflicts with what is stored or configured. `extensions.reason` gives the reason.',
  VALIDATION_FAILED: 'Arguments or variables break rules. `extensions.errors` lists them.',
  RATE_LIMITED: 'The rate limit is exceeded. `extensions.retryAfter` is the number of seconds to wait.',
  INTERNAL_ERROR: 'The gateway failed.',
  GOING_AWAY: 'The gateway is shutting down. Only live streams end with this error. Subscribe again.',
};

builder.enumType('ErrorCode', {
  description: 'The code of an error, in `extensions.code`.',
  values: describe(descriptions),
});

builder.enumType('ConflictReason', {
  description: 'The reason for an error with the code `CONFLICT`, in `extensions.reason`.',
  values: describe(conflictReasons),
});

function describe(members: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(members).map(([name, description]) => [name, { value: name, description }]),
  );
}
