import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLErrorExtensions,
  type GraphQLFormattedError,
  type SourceLocation,
} from 'graphql';
import { createItemWriter, type ErrorItem } from '../errors/error-items.ts';
import {
  BadRequestError,
  type ErrorCode,
  errorHeaders,
  GatewayError,
  httpStatus,
  InternalError,
  RateLimitedError,
  ValidationError,
} from '../errors/gateway-errors.ts';
import { toPublicMessage } from './public-messages.ts';

/*
 * The one place that turns whatever was thrown into what a GraphQL client reads. No message of a library that contains
 * values is passed on.
 */

/** The error that a caller is shown for anything thrown. What is not known is an internal error, with its cause. */
export function asGatewayError(error: unknown, outer?: GraphQLError): GatewayError {
  if (error instanceof GatewayError) return error;
  if (!(error instanceof GraphQLError)) return new InternalError(error);
  const located = outer ?? error;
  if (error.originalError) return asGatewayError(error.originalError, located);
  if (located.path === undefined) return new BadRequestError(toPublicMessage(error));
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

/** An error as a GraphQL client reads it. `extensions.http` is for Yoga and is left out of the JSON. */
export class MaskedError extends GraphQLError {
  readonly known: GatewayError;
  override readonly locations: readonly SourceLocation[] | undefined;

  constructor(error: unknown, known: GatewayError, items: readonly ErrorItem[], http?: Http) {
    const { path } = error instanceof GraphQLError ? error : {};
    super(known.message, {
      path: path ?? null,
      originalError: known,
      extensions: {
        code: known.code,
        ...(items.length > 0 && { errors: items }),
        ...(known instanceof RateLimitedError && { retryAfter: known.retryAfter }),
        ...(http && { http }),
      },
    });
    this.known = known;
    this.locations = findLocations(error);
  }

  override toJSON(): GraphQLFormattedError {
    const { extensions: { http: _http, ...extensions } = {}, ...json } = super.toJSON();
    return { ...json, extensions };
  }
}

/** Masks an error that refused a request before it was read to its end. */
export function maskError(error: unknown): MaskedError {
  if (error instanceof MaskedError) return error;
  const known = asGatewayError(error);
  return new MaskedError(error, known, createItemWriter()(known), { ...toHttp(error, known), spec: false });
}

/** The result of an operation: one of graphql-js, or errors of any kind instead. */
export type Result = {
  readonly errors?: readonly unknown[] | undefined;
  readonly data?: ExecutionResult['data'];
};

/** What a client gets: errors first, each of them masked. */
export type Reply = Pick<Result, 'data'> & { readonly errors?: readonly MaskedError[] };

/** Masks the errors of a result, which share one limit of items and size. */
export function maskResult({ errors, data }: Result): Reply {
  if (errors === undefined) return { data };
  const found = errors.map((error) => ({ error, known: asGatewayError(error) }));
  const codes = found.map(({ known }) => known.code);
  const hasFailed = data === undefined || hasFailedWhole(data, codes);
  const writeItems = createItemWriter();
  // An error of one field leaves the reply at 200; one of the whole request decides its status.
  const masked = found.map(
    ({ error, known }) =>
      new MaskedError(error, known, writeItems(known), hasFailed ? toHttp(error, known) : undefined),
  );
  return hasFailed ? { errors: masked } : { errors: masked, data };
}

/** Whether every root field failed because of the rate limit, or every one internally. */
function hasFailedWhole(data: ExecutionResult['data'], codes: readonly ErrorCode[]): boolean {
  const fields = Object.values(data ?? {});
  const isWhole = fields.length === codes.length && fields.every((value) => value === null);
  const isEvery = (code: ErrorCode) => codes.every((other) => other === code);
  return isWhole && (isEvery('RATE_LIMITED') || isEvery('INTERNAL_ERROR'));
}

type Http = NonNullable<GraphQLErrorExtensions['http']>;

/**
 * Status and headers of a reply that an error decides. With `spec`, Yoga leaves the status at 200 for clients that
 * accept `application/json` alone: the request failed before it was executed (GraphQL over HTTP, section 6.4.1).
 */
function toHttp(error: unknown, known: GatewayError): Http {
  const { path, extensions } = error instanceof GraphQLError ? error : {};
  const { code } = known;
  const isRequestError = path === undefined && (code === 'BAD_REQUEST' || code === 'VALIDATION_FAILED');
  // GraphQL over HTTP has no 422 (section 6.4.2).
  const status = code === 'VALIDATION_FAILED' ? 400 : httpStatus[code];
  return extensions?.http ?? { status, spec: isRequestError, headers: errorHeaders(known) };
}

/** An error can name any number of places in the document. */
const MAX_LOCATIONS = 3;

/** Where an error is in the document. The tokens have it; `locations` would be found by searching the source. */
function findLocations(error: unknown): readonly SourceLocation[] | undefined {
  const { nodes, locations } = error instanceof GraphQLError ? error : {};
  const places = nodes?.flatMap(({ loc }) => loc?.startToken ?? []) ?? locations;
  return places?.slice(0, MAX_LOCATIONS).map(({ line, column }) => ({ line, column }));
}
