import { summarizeIssues, type ValidationIssue } from './issue.ts';

/** Replaces credentials, and values that contain one, in messages and logs. */
export const REDACTED = '[redacted]';

/**
 * The HTTP status of every error code in REST; GraphQL adapts it in graphql/errors.ts. `GOING_AWAY` is sent only at the
 * end of live streams.
 */
export const httpStatus = {
  BAD_REQUEST: 400,
  UNAUTHENTICATED: 401,
  ORG_MEMBERSHIP_REQUIRED: 403,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  VALIDATION_FAILED: 422,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  GOING_AWAY: 500,
} as const satisfies Readonly<Record<string, number>>;

/** The closed list of codes. GraphQL returns them unchanged, REST in lower case. */
export type ErrorCode = keyof typeof httpStatus;

/** An error that callers may see. Message and issues are safe to show; `cause` is not. */
export abstract class GatewayError extends Error {
  abstract readonly code: ErrorCode;
  readonly issues: readonly ValidationIssue[];

  constructor(message: string, issues: readonly ValidationIssue[] = [], options?: ErrorOptions) {
    super(message, options);
    this.issues = issues;
  }
}

/** The request cannot be read: not JSON, not GraphQL, too large, an invalid query parameter. */
export class BadRequestError extends GatewayError {
  readonly code = 'BAD_REQUEST';
}

/** The token is missing or invalid. `reason` names the failed check; it is logged, but not sent. */
export class UnauthenticatedError extends GatewayError {
  readonly code = 'UNAUTHENTICATED';
  readonly tokenSent: boolean;
  readonly reason: string;

  /** The request has no bearer token. */
  static missingToken(reason: string): UnauthenticatedError {
    return new UnauthenticatedError(false, reason);
  }

  /** The request has a token that is not accepted. */
  static invalidToken(reason: string): UnauthenticatedError {
    return new UnauthenticatedError(true, reason);
  }

  private constructor(tokenSent: boolean, reason: string) {
    super('A valid bearer token is required.');
    this.tokenSent = tokenSent;
    this.reason = reason;
  }
}

/** The token names no organization. */
export class MembershipRequiredError extends GatewayError {
  readonly code = 'ORG_MEMBERSHIP_REQUIRED';

  constructor() {
    super('This operation requires membership in an organization.');
  }
}

/** The token does not allow the operation. */
export class ForbiddenError extends GatewayError {
  readonly code = 'FORBIDDEN';

  /**
   * The token lacks the scope that the operation needs. `alternative` is appended to the message: another field for which
   * the token's scopes suffice.
   */
  static missingScope(scope: string, alternative = ''): ForbiddenError {
    return new ForbiddenError(`This operation requires a token with the scope "${scope}".${alternative}`);
  }

  /** The token is a task token, to which the rule applies. */
  static forTask(rule: string): ForbiddenError {
    return new ForbiddenError(`A token with the scope "platform:task" ${rule}.`);
  }
}

/** No such path, no such record, or another user's record: the same message for all three. */
export class NotFoundError extends GatewayError {
  readonly code = 'NOT_FOUND';

  constructor() {
    super('Not found.');
  }
}

/** The closed list of reasons for a conflict, with their descriptions. GraphQL returns them unchanged. */
export const conflictReasons = {
  ID_REUSED: 'A record with the same ID and other content is stored.',
  STALE_VERSION: 'The version is no longer current. Read the record again.',
  NOT_REFRESHABLE: 'The token pair has no refresh token. Its user must connect the editor again.',
  LIMIT_REACHED: 'The user, or the task, has the maximum number of such records.',
  NOT_CONFIGURED: 'The gateway is not configured for the operation.',
  CURSOR_EXPIRED:
    'The cursor is from before the oldest stored event, or from before the database was restored.',
  ANSWER_ID_REUSED: 'An answer with the same ID and other content is stored.',
  NOT_ANSWERED: 'The request has no answer.',
} as const satisfies Readonly<Record<string, string>>;

export type ConflictReason = keyof typeof conflictReasons;

/** The request conflicts with what is stored, or with the configuration. */
export class ConflictError extends GatewayError {
  readonly code = 'CONFLICT';
  /** Null if only REST replies with the error. */
  readonly reason: ConflictReason | null;

  constructor(reason: ConflictReason | null, message: string, issues?: readonly ValidationIssue[]) {
    super(message, issues);
    this.reason = reason;
  }
}

/** The maximum number of error items in one reply, at which validation stops. */
export const MAX_ERROR_ITEMS = 100;

/**
 * A well-formed request that breaks rules. Lists the errors of the check that failed, at most {@link MAX_ERROR_ITEMS}.
 */
export class ValidationError extends GatewayError {
  readonly code = 'VALIDATION_FAILED';

  /** Stops iterating `issues` at the limit, so that a lazy check does no further work. */
  constructor(issues: Iterable<ValidationIssue>) {
    const listed = [...Iterator.from(issues).take(MAX_ERROR_ITEMS)];
    super(summarizeIssues(listed), listed);
  }
}

/** Too many requests, open streams or unfinished bodies; `retryAfter` is in whole seconds, at least 1. */
export class RateLimitedError extends GatewayError {
  readonly code = 'RATE_LIMITED';
  readonly retryAfter: number;

  constructor(retryAfter: number, excess: 'requests' | 'open streams' | 'unfinished bodies' = 'requests') {
    super(`Too many ${excess}. Try again in ${retryAfter} s.`);
    this.retryAfter = retryAfter;
  }
}

/** Any other error. `cause` is logged only; `retryAfter` is in whole seconds, if waiting helps. */
export class InternalError extends GatewayError {
  readonly code = 'INTERNAL_ERROR';
  readonly retryAfter: number | undefined;

  constructor(cause: unknown, retryAfter?: number) {
    super('Internal error.', [], { cause });
    this.retryAfter = retryAfter;
  }
}

/** The gateway is shutting down. The last event of a live stream, which the client should reopen. */
export class GoingAwayError extends GatewayError {
  readonly code = 'GOING_AWAY';

  constructor() {
    super('The gateway is shutting down. Subscribe again.');
  }
}

/** Returns the headers of an error: the challenge of RFC 6750, section 3, or `Retry-After`. */
export function errorHeaders(error: GatewayError): Readonly<Record<string, string>> {
  if (error instanceof UnauthenticatedError) {
    return { 'WWW-Authenticate': error.tokenSent ? 'Bearer error="invalid_token"' : 'Bearer' };
  }
  if (error instanceof ForbiddenError) return { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' };
  const isTemporary = error instanceof RateLimitedError || error instanceof InternalError;
  return isTemporary && error.retryAfter !== undefined ? { 'Retry-After': String(error.retryAfter) } : {};
}
