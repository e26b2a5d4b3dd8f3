import { type ExecutionResult, GraphQLError, type SourceLocation } from 'graphql';
import type { RequestRecord } from '../context.ts';
import { createItemSerializer, type ErrorItem } from '../errors/error-items.ts';
import {
  BadRequestError,
  ConflictError,
  type ErrorCode,
  errorHeaders,
  GatewayError,
  httpStatus,
  InternalError,
  RateLimitedError,
  ValidationError,
} from '../errors/gateway-errors.ts';
import { logHiddenCause } from '../log.ts';
import { toPublicMessage } from './public-messages.ts';

/**
 * Converts anything thrown to an error that callers of both APIs may see. Messages of libraries are replaced, because
 * they may contain values. An unknown error becomes the cause of an internal error. `outermost` is the outermost of
 * nested GraphQL errors. It has a path if the error occurred during execution.
 */
export function asGatewayError(error: unknown, outermost?: GraphQLError): GatewayError {
  if (error instanceof GatewayError) return error;
  if (!(error instanceof GraphQLError)) return new InternalError(error);
  const located = outermost ?? error;
  if (error.originalError && !isWrongLiteral(error, located))
    return asGatewayError(error.originalError, located);
  if (located.path === undefined) return new BadRequestError(toPublicMessage(error));
  // During execution, graphql-js itself reports invalid arguments and errors in resolved values.
  const [, name, rule = ''] =
    /^Argument "(\w+)" (?:of (required|non-null) type|has invalid value)/.exec(error.message) ?? [];
  if (name === undefined) return new InternalError(error);
  const message = ARGUMENT_MESSAGES[rule] ?? 'is not valid';
  return new ValidationError([{ path: [name], message, value: null }]);
}

/** Whether graphql-js found a literal in a document that a scalar type does not accept. */
function isWrongLiteral({ nodes, originalError }: GraphQLError, { path }: GraphQLError): boolean {
  const isOfScalar = !(originalError instanceof GatewayError || originalError instanceof GraphQLError);
  return isOfScalar && path === undefined && nodes !== undefined;
}

/** Messages that follow an argument's name, by the rule in graphql-js' message. */
const ARGUMENT_MESSAGES: Readonly<Record<string, string>> = {
  required: 'is required',
  'non-null': 'must not be null',
};

/** Where the errors of a request are reported. */
type ReportTo = Pick<RequestRecord, 'log' | 'failures'>;

/** Returns the error that the caller sees, and logs the rest. The first one of a request is kept for the metrics. */
export function reportError(error: unknown, { log, failures }: ReportTo): GatewayError {
  const shown = asGatewayError(error);
  logHiddenCause(log, shown);
  if (failures.length === 0) failures.push({ code: shown.code });
  return shown;
}

/** Gives an error a status other than the usual one of its code. */
export function withStatus(originalError: GatewayError, status: number): GraphQLError {
  const http = { status, headers: errorHeaders(originalError) };
  return new GraphQLError(originalError.message, { originalError, extensions: { http } });
}

/** The result of an operation, with errors of any kind. */
export type OperationResult = Pick<ExecutionResult, 'data'> & {
  readonly errors?: readonly unknown[] | undefined;
};

/**
 * Masks the errors of a result, and reports them. The limits for the number and size of error items apply to all of them
 * together. If the whole request failed, the reply contains no data, and `httpErrors` have its status and headers as
 * `extensions.http`; otherwise, its status is 200.
 */
export function maskResult({ errors = [], data }: OperationResult, record: ReportTo) {
  const found = errors.map((error) => ({ error, shown: reportError(error, record) }));
  const codes = found.map(({ shown }) => shown.code);
  const serializeItems = createItemSerializer();
  const masked = found.map(({ error, shown }) => formatError(error, shown, serializeItems(shown)));
  const hasFailed = data === undefined || isFailure(data, codes);
  if (!hasFailed) return { reply: { errors: masked, data }, httpErrors: [] };
  const httpErrors = found.map(({ error, shown }) => toHttpError(error, shown));
  return { reply: { errors: masked }, httpErrors };
}

/** Formats an error for a GraphQL client (GraphQL, section 7.1.2). */
function formatError(error: unknown, shown: GatewayError, items: readonly ErrorItem[]) {
  return {
    message: shown.message,
    locations: findLocations(error),
    path: error instanceof GraphQLError ? error.path : undefined,
    extensions: {
      code: shown.code,
      ...(items.length > 0 && { errors: items }),
      ...(shown instanceof ConflictError && { reason: shown.reason }),
      ...(shown instanceof RateLimitedError && { retryAfter: shown.retryAfter }),
    },
  };
}

/** Whether all root fields failed because of the rate limit, or all with an internal error. */
function isFailure(data: ExecutionResult['data'], codes: readonly ErrorCode[]): boolean {
  const fields = Object.values(data ?? {});
  const isComplete = fields.length === codes.length && fields.every((value) => value === null);
  const areAll = (code: ErrorCode) => codes.every((other) => other === code);
  return isComplete && (areAll('RATE_LIMITED') || areAll('INTERNAL_ERROR'));
}

/**
 * Returns an error with the status and headers of the reply. `spec` marks an error found before execution: to clients
 * that accept only `application/json`, Yoga then returns 200 instead (GraphQL over HTTP, section 6.4.1).
 */
function toHttpError(error: unknown, shown: GatewayError): GraphQLError {
  const { path, extensions } = error instanceof GraphQLError ? error : {};
  const { code } = shown;
  const isRequestError = path === undefined && (code === 'BAD_REQUEST' || code === 'VALIDATION_FAILED');
  // GraphQL over HTTP does not use 422 (section 6.4.2).
  const status = code === 'VALIDATION_FAILED' ? 400 : httpStatus[code];
  const http = extensions?.http ?? { status, spec: isRequestError, headers: errorHeaders(shown) };
  return new GraphQLError(shown.message, { extensions: { http } });
}

/** graphql-js may report any number of locations for one error. */
const MAX_LOCATIONS = 3;

/** Finds the locations of an error by its tokens, because graphql-js' `locations` searches the source. */
function findLocations(error: unknown): readonly SourceLocation[] | undefined {
  const { nodes, locations } = error instanceof GraphQLError ? error : {};
  const positions = nodes?.flatMap(({ loc }) => loc?.startToken ?? []) ?? locations;
  return positions?.slice(0, MAX_LOCATIONS).map(({ line, column }) => ({ line, column }));
}
