import { type ExecutionResult, GraphQLError, type GraphQLFormattedError, type SourceLocation } from 'graphql';
import { createItemWriter, type ErrorItem } from '../error-items.ts';
import {
  BadRequestError,
  challengeOf,
  type ErrorCode,
  GatewayError,
  InternalError,
  RateLimitedError,
  statusOf,
  ValidationError,
} from '../errors.ts';
import { readableMessage } from './graphql-messages.ts';

/*
 * The one place that turns whatever was thrown into what a GraphQL client reads. Nothing that a library says with
 * values in it gets past.
 */

/** The error that a caller is shown for anything thrown. What is not known is an internal error, with its cause. */
export function asGatewayError(error: unknown, outer?: GraphQLError): GatewayError {
  if (error instanceof GatewayError) return error;
  if (!(error instanceof GraphQLError)) return new InternalError(error);
  const located = outer ?? error;
  if (error.originalError) return asGatewayError(error.originalError, located);
  if (located.path === undefined) return new BadRequestError(readableMessage(error));
  // During execution graphql-js itself reports arguments, and defects of ours.
  const [, name, rule = ''] =
    /^Argument "(\w+)" (?:of (required|non-null) type|has invalid value)/.exec(error.message) ?? [];
  if (name === undefined) return new InternalError(error);
  return new ValidationError([
    { path: [name], message: ARGUMENT_RULES[rule] ?? 'is not valid', value: null },
  ]);
}

/** What graphql-js says of an argument, in words that fit behind its name. */
const ARGUMENT_RULES: Readonly<Record<string, string>> = {
  required: 'is required',
  'non-null': 'must not be null',
};

/**
 * An error as a GraphQL client reads it. `extensions.http` is for Yoga, and is left out of the JSON. `isLenient` says
 * that a well-formed request failed before it was executed: its status stays 200 for clients that accept
 * `application/json` alone (GraphQL over HTTP, section 6.4.1).
 */
export class MaskedError extends GraphQLError {
  readonly known: GatewayError;
  readonly #places: readonly SourceLocation[] | undefined;

  constructor(error: unknown, items: readonly ErrorItem[], isLenient: boolean) {
    const known = asGatewayError(error);
    const { path, extensions } = error instanceof GraphQLError ? error : new GraphQLError('');
    super(known.message, {
      path: path ?? null,
      originalError: known,
      extensions: {
        code: known.code,
        ...(items.length > 0 && { errors: items }),
        ...(known instanceof RateLimitedError && { retryAfter: known.retryAfter }),
        // An error of one field leaves the reply at 200; one of the whole request decides its status.
        ...(path === undefined && { http: extensions.http ?? httpOf(known, isLenient) }),
      },
    });
    this.known = known;
    this.#places = placesOf(error);
  }

  override toJSON(): GraphQLFormattedError {
    const { http: _http, ...extensions } = this.extensions;
    return {
      message: this.message,
      ...(this.#places && { locations: this.#places }),
      ...(this.path && { path: this.path }),
      extensions,
    };
  }
}

/** Masks an error that refused a request before it was read to its end. */
export function maskError(error: unknown): MaskedError {
  if (error instanceof MaskedError) return error;
  return new MaskedError(error, createItemWriter()(asGatewayError(error)), false);
}

/** What a client gets: errors first, each of them masked. */
export type Reply = {
  readonly errors?: readonly MaskedError[];
  readonly data?: ExecutionResult['data'];
  /** The status and headers of a reply that failed as a whole, for Yoga. */
  readonly extensions?: { readonly http: ReturnType<typeof httpOf> };
};

/** What an operation came to: a result of graphql-js, or errors of any kind in place of one. */
export type Result = {
  readonly errors?: readonly unknown[] | undefined;
  readonly data?: ExecutionResult['data'];
};

/** Masks the errors of a result, which share one limit of items and size. */
export function maskResult({ errors, data }: Result): Reply {
  const result = data === undefined ? {} : { data };
  if (errors === undefined) return result;
  const itemsOf = createItemWriter();
  const masked = errors.map((error) => new MaskedError(error, itemsOf(asGatewayError(error)), true));
  const [first] = masked;
  const failed = first !== undefined && failedWhole({ data, masked });
  return failed
    ? { errors: masked, extensions: { http: httpOf(first.known, true) } }
    : { errors: masked, ...result };
}

/** Whether a subscription failed to start, or every root field failed for the rate limit, or every one internally. */
function failedWhole({
  data,
  masked,
}: {
  data: ExecutionResult['data'];
  masked: readonly MaskedError[];
}): boolean {
  if (data === undefined) return masked[0]?.path !== undefined;
  const fields = Object.values(data ?? {});
  return (
    fields.length === masked.length &&
    fields.every((value) => value === null) &&
    (['RATE_LIMITED', 'INTERNAL_ERROR'] as const).some((code) =>
      masked.every(({ known }) => known.code === code),
    )
  );
}

/** An error can name any number of places in the document. */
const MAX_LOCATIONS = 3;

/** Where an error is in the document. The tokens have it; `locations` would be found by searching the source. */
function placesOf(error: unknown): readonly SourceLocation[] | undefined {
  const { nodes, locations } = error instanceof GraphQLError ? error : {};
  const places = nodes?.flatMap(({ loc }) => loc?.startToken ?? []) ?? locations;
  return places?.slice(0, MAX_LOCATIONS).map(({ line, column }) => ({ line, column }));
}

/** Status and headers of a reply that an error decides. Yoga's `spec` is for {@link MaskedError}. */
function httpOf(error: GatewayError, isLenient: boolean) {
  const challenge = challengeOf(error);
  return {
    status: graphqlStatusOf(error.code),
    spec: isLenient && (error.code === 'BAD_REQUEST' || error.code === 'VALIDATION_FAILED'),
    headers: {
      ...(challenge !== undefined && { 'WWW-Authenticate': challenge }),
      ...(error instanceof RateLimitedError && { 'Retry-After': String(error.retryAfter) }),
    },
  };
}

/** GraphQL over HTTP knows no 422: variables that do not fit their types are a 400 (section 6.4.2). */
function graphqlStatusOf(code: ErrorCode): number {
  return code === 'VALIDATION_FAILED' ? 400 : statusOf[code];
}
