/** The codes of the gateway's errors. */
export type ErrorCode =
  | 'BAD_REQUEST'
  | 'CONFLICT'
  | 'FORBIDDEN'
  | 'GOING_AWAY'
  | 'INTERNAL_ERROR'
  | 'NOT_FOUND'
  | 'ORG_MEMBERSHIP_REQUIRED'
  | 'RATE_LIMITED'
  | 'UNAUTHENTICATED'
  | 'VALIDATION_FAILED';

/** A rule that an argument breaks. */
export type FieldError = { readonly location: string; readonly message: string };

/** The fields of a {@link GatewayError}, which can be sent to another tab. */
export type ErrorFields = {
  readonly message: string;
  readonly code: string;
  readonly retryAfter?: number | undefined;
  readonly retryAt?: number | undefined;
  readonly reason?: string | undefined;
  readonly fieldErrors?: readonly FieldError[] | undefined;
  readonly requestId?: string | undefined;
};

/** Any failure of this client. */
export class GatewayError extends Error {
  /**
   * The gateway's code. Without one: `NETWORK_ERROR` (there was no reply, or only that of a proxy), `INVALID_REPLY`,
   * `NO_TOKEN` (`getToken` failed), or `SIGNED_OUT` (the user signed out, or the token is of another account). Later
   * versions of the gateway may have more.
   */
  readonly code: ErrorCode | 'NETWORK_ERROR' | 'INVALID_REPLY' | 'NO_TOKEN' | 'SIGNED_OUT' | (string & {});
  /** Seconds to wait, of `RATE_LIMITED`. */
  readonly retryAfter: number | undefined;
  /** When to try again, or when this client does, in milliseconds since 1970. */
  readonly retryAt: number | undefined;
  /** The reason of a `CONFLICT`. */
  readonly reason: string | undefined;
  /** The broken rules of `VALIDATION_FAILED`. */
  readonly fieldErrors: readonly FieldError[];
  /** The `X-Request-Id` of the reply, under which the gateway's log has the cause. */
  readonly requestId: string | undefined;

  constructor(fields: ErrorFields, options?: ErrorOptions) {
    super(fields.message, options);
    this.name = 'GatewayError';
    this.code = fields.code;
    this.retryAfter = fields.retryAfter;
    this.retryAt = fields.retryAt;
    this.reason = fields.reason;
    this.fieldErrors = fields.fieldErrors ?? [];
    this.requestId = fields.requestId;
  }

  /** Returns the fields of the error, which structured clones of errors lose. */
  toFields(): ErrorFields {
    const { message, code, retryAfter, retryAt, reason, fieldErrors, requestId } = this;
    return { message, code, retryAfter, retryAt, reason, fieldErrors, requestId };
  }

  /** Returns the error with the time of the next attempt. */
  retriedAt(retryAt: number): GatewayError {
    return new GatewayError({ ...this.toFields(), retryAt }, { cause: this.cause });
  }
}

/** Whether the browser has no network. Programs outside of browsers do not know. */
export const isOffline = () => globalThis.navigator?.onLine === false;

/** Converts whatever was thrown. What is not of the gateway means that there was no reply. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  // What browsers say, such as "Failed to fetch", is not for people.
  const message = isOffline() ? 'You are offline.' : 'The server cannot be reached.';
  return new GatewayError({ code: 'NETWORK_ERROR', message }, { cause: error });
}

/** Returns the error of everything after a user has signed out or changed. */
export function signedOut(): GatewayError {
  return new GatewayError({ code: 'SIGNED_OUT', message: 'You signed out, or the account changed.' });
}

/** An error as GraphQL replies have it. */
export type ReplyError = {
  readonly message: string;
  readonly extensions?: {
    readonly code?: string;
    readonly retryAfter?: number;
    readonly reason?: string;
    readonly errors?: readonly FieldError[];
  };
};

/** Converts an error of a GraphQL reply. */
export function fromReply({ message, extensions = {} }: ReplyError, requestId?: string | null): GatewayError {
  const { code = 'INVALID_REPLY', retryAfter, reason, errors } = extensions;
  const retryAt = retryAfter === undefined ? undefined : Date.now() + 1000 * retryAfter;
  const id = requestId ?? undefined;
  return new GatewayError({ message, code, retryAfter, retryAt, reason, fieldErrors: errors, requestId: id });
}
