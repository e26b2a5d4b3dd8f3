import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLErrorExtensions,
  type GraphQLFormattedError,
  type SourceLocation,
} from 'graphql';
import { errorHeaders } from '../errors/error-headers.ts';
import { createItemSerializer, type ErrorItem } from '../errors/error-items.ts';
import {
  BadRequestError,
  type ErrorCode,
  GatewayError,
  httpStatus,
  InternalError,
  RateLimitedError,
  ValidationError,
} from '../errors/gateway-errors.ts';
import { toPublicMessage } from './public-messages.ts';

/*
 * Converts thrown errors to the errors that callers of both APIs may see, and these to GraphQL errors. Messages of
 * libraries are replaced, because they may contain values.
 */

/**
 * Converts anything thrown to an error that a caller may see. An unknown error becomes the cause of an internal error.
 * `outermost` is the outermost of nested GraphQL errors. It has a path if the error occurred during execution.
 */
export function asGatewayError(error: unknown, outermost?: GraphQLError): GatewayError {
  if (error instanceof GatewayError) return error;
  if (!(error instanceof GraphQLError)) return new InternalError(error);
  const located = outermost ?? error;
  if (error.originalError) return asGatewayError(error.originalError, located);
  if (located.path === undefined) return new BadRequestError(toPublicMessage(error));
  // During execution, graphql-js itself reports invalid arguments and errors in resolved values.
  const [, name, rule = ''] =
    /^Argument "(\w+)" (?:of (required|non-null) type|has invalid value)/.exec(error.message) ?? [];
  if (name === undefined) return new InternalError(error);
  return new ValidationError([
    { path: [name], message: ARGUMENT_MESSAGES[rule] ?? 'is not valid', value: null },
  ]);
}

/** Messages that follow an argument's name, by the rule in graphql-js' message. */
const ARGUMENT_MESSAGES: Readonly<Record<string, string>> = {
  required: 'is required',
  'non-null': 'must not be null',
};

/** An error that a GraphQL client may see. `extensions.http` is for Yoga and is omitted from the JSON. */
export class MaskedError extends GraphQLError {
  readonly shown: GatewayError;
  override readonly locations: readonly SourceLocation[] | undefined;

  constructor(error: unknown, shown: GatewayError, items: readonly ErrorItem[], http?: Http) {
    const { path } = error instanceof GraphQLError ? error : {};
    super(shown.message, {
      path: path ?? null,
      originalError: shown,
      extensions: {
        code: shown.code,
        ...(items.length > 0 && { errors: items }),
        ...(shown instanceof RateLimitedError && { retryAfter: shown.retryAfter }),
        ...(http && { http }),
      },
    });
    this.shown = shown;
    this.locations = findLocations(error);
  }

  override toJSON(): GraphQLFormattedError {
    const { extensions: { http: _http, ...extensions } = {}, ...json } = super.toJSON();
    return { ...json, extensions };
  }
}

/** Masks an error that rejected a request before its operation was known. */
export function maskError(error: unknown): MaskedError {
  if (error instanceof MaskedError) return error;
  const shown = asGatewayError(error);
  return new MaskedError(error, shown, createItemSerializer()(shown), {
    ...toHttp(error, shown),
    spec: false,
  });
}

/** The result of an operation, with errors of any kind. */
export type OperationResult = {
  readonly errors?: readonly unknown[] | undefined;
  readonly data?: ExecutionResult['data'];
};

/** A result with masked errors. */
export type GraphQLReply = Pick<OperationResult, 'data'> & { readonly errors?: readonly MaskedError[] };

/** Masks the errors of a result. The limits for the number and size of error items apply to all of them together. */
export function maskResult({ errors, data }: OperationResult): GraphQLReply {
  if (errors === undefined) return { data };
  const found = errors.map((error) => ({ error, shown: asGatewayError(error) }));
  const codes = found.map(({ shown }) => shown.code);
  const hasFailed = data === undefined || isFailure(data, codes);
  const serializeItems = createItemSerializer();
  // The status of the reply is 200 unless the whole request failed.
  const masked = found.map(
    ({ error, shown }) =>
      new MaskedError(error, shown, serializeItems(shown), hasFailed ? toHttp(error, shown) : undefined),
  );
  return hasFailed ? { errors: masked } : { errors: masked, data };
}

/** Whether all root fields failed because of the rate limit, or all with an internal error. */
function isFailure(data: ExecutionResult['data'], codes: readonly ErrorCode[]): boolean {
  const fields = Object.values(data ?? {});
  const isComplete = fields.length === codes.length && fields.every((value) => value === null);
  const areAll = (code: ErrorCode) => codes.every((other) => other === code);
  return isComplete && (areAll('RATE_LIMITED') || areAll('INTERNAL_ERROR'));
}

type Http = NonNullable<GraphQLErrorExtensions['http']>;

/**
 * Converts an error to the status and headers of the reply. `spec` marks an error found before execution: to clients
 * that accept only `application/json`, Yoga then returns 200 instead (GraphQL over HTTP, section 6.4.1).
 */
function toHttp(error: unknown, shown: GatewayError): Http {
  const { path, extensions } = error instanceof GraphQLError ? error : {};
  const { code } = shown;
  const isRequestError = path === undefined && (code === 'BAD_REQUEST' || code === 'VALIDATION_FAILED');
  // GraphQL over HTTP does not use 422 (section 6.4.2).
  const status = code === 'VALIDATION_FAILED' ? 400 : httpStatus[code];
  return extensions?.http ?? { status, spec: isRequestError, headers: errorHeaders(shown) };
}

/** graphql-js may report any number of locations for one error. */
const MAX_LOCATIONS = 3;

/** Finds the locations of an error by its tokens, because graphql-js' `locations` searches the source. */
function findLocations(error: unknown): readonly SourceLocation[] | undefined {
  const { nodes, locations } = error instanceof GraphQLError ? error : {};
  const positions = nodes?.flatMap(({ loc }) => loc?.startToken ?? []) ?? locations;
  return positions?.slice(0, MAX_LOCATIONS).map(({ line, column }) => ({ line, column }));
}
