/** Where a fault lies, from the root of the request: `['input', 'preferences', 0, 'emailEnabled']`. */
export type Path = readonly (string | number)[];

/** One broken rule. `value` is what was sent, null where nothing was, {@link REDACTED} near a credential. */
export type Fault = { readonly path: Path; readonly message: string; readonly value: unknown };

/** Stands for a credential, and for anything that contains one, wherever a value is shown. */
export const REDACTED = '[redacted]';

/** The closed list of codes. GraphQL shows them as they are, REST in lower case. */
export type ErrorCode =
  | 'BAD_REQUEST'
  | 'UNAUTHENTICATED'
  | 'ORG_MEMBERSHIP_REQUIRED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'VALIDATION_FAILED'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'GOING_AWAY';

/** The HTTP status of every code. `GOING_AWAY` only ends live streams, and decides no reply. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
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
};

/** Every error that a caller may see. Its message and faults are safe to show; its `cause` never is. */
export abstract class GatewayError extends Error {
  abstract readonly code: ErrorCode;
  readonly faults: readonly Fault[];

  constructor(message: string, faults: readonly Fault[] = [], options?: ErrorOptions) {
    super(message, options);
    this.faults = faults;
  }
}

/** The request cannot be read: not JSON, not GraphQL, too large, an invalid query parameter. */
export class BadRequestError extends GatewayError {
  readonly code = 'BAD_REQUEST';
}

/** No token, or one that does not hold. `reason` says which check failed, for the log alone. */
export class UnauthenticatedError extends GatewayError {
  readonly code = 'UNAUTHENTICATED';
  readonly tokenSent: boolean;
  readonly reason: string;

  constructor(tokenSent: boolean, reason: string) {
    super('A valid bearer token is required.');
    this.tokenSent = tokenSent;
    this.reason = reason;
  }
}

/** The token's user belongs to no organization. */
export class MembershipRequiredError extends GatewayError {
  readonly code = 'ORG_MEMBERSHIP_REQUIRED';

  constructor() {
    super('This operation needs membership in an organization.');
  }
}

/** The token lacks the scope that the operation needs. */
export class ForbiddenError extends GatewayError {
  readonly code = 'FORBIDDEN';

  constructor(scope: string) {
    super(`This operation needs a token with the scope "${scope}".`);
  }
}

/** No such record of this user, or no such path: the same words for both, and for someone else's record. */
export class NotFoundError extends GatewayError {
  readonly code = 'NOT_FOUND';

  constructor() {
    super('Not found.');
  }
}

/** The client's id is taken by other content, or the version is no longer the current one. */
export class ConflictError extends GatewayError {
  readonly code = 'CONFLICT';
}

/** Faults that are listed at most: a body of 1 MiB can hold a million, and the reply would be 90 times its size. */
const MOST_FAULTS = 1000;

/** A well-formed request that breaks rules; every fault of the stage that failed is listed, up to a bound. */
export class ValidationError extends GatewayError {
  readonly code = 'VALIDATION_FAILED';

  constructor(faults: readonly Fault[]) {
    super(
      faults.length === 1
        ? `Invalid request: ${describe(faults[0])}.`
        : `Invalid request: ${faults.length} faults, the first: ${describe(faults[0])}.`,
      faults.slice(0, MOST_FAULTS),
    );
  }
}

/** Too many requests; `retryAfter` is in whole seconds, at least 1. */
export class RateLimitedError extends GatewayError {
  readonly code = 'RATE_LIMITED';
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    super(`Too many requests: try again in ${retryAfter} s.`);
    this.retryAfter = retryAfter;
  }
}

/** Anything else. The reason is in `cause`, for the log alone. */
export class InternalError extends GatewayError {
  readonly code = 'INTERNAL_ERROR';

  constructor(cause: unknown) {
    super('Internal error.', [], { cause });
  }
}

/** The gateway stops: the last word of a live stream, which is to be opened again. */
export class GoingAwayError extends GatewayError {
  readonly code = 'GOING_AWAY';

  constructor() {
    super('The gateway is stopping: subscribe again.');
  }
}

/** The challenge of RFC 6750, section 3, that goes with an error; undefined where none does. */
export function challengeOf(error: GatewayError): string | undefined {
  if (error instanceof UnauthenticatedError) {
    return error.tokenSent ? 'Bearer error="invalid_token"' : 'Bearer';
  }
  return error instanceof ForbiddenError ? 'Bearer error="insufficient_scope"' : undefined;
}

/** Writes a path as clients read it: `body.preferences[0].email_enabled`. */
export function locationOf(path: Path): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
}

/** The items of `errors`, the same on both faces. */
export function itemsOf({ faults }: Pick<GatewayError, 'faults'>) {
  return faults.map(({ path, message, value }) => ({ location: locationOf(path), message, value }));
}

function describe(fault: Fault | undefined): string {
  return fault === undefined ? 'no fault given' : `${locationOf(fault.path)} ${fault.message}`;
}
