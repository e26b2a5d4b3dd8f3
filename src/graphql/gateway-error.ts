import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import {
  BadRequestError,
  challengeOf,
  type ErrorCode,
  GatewayError,
  InternalError,
  itemsOf,
  RateLimitedError,
  statusOf,
  ValidationError,
} from '../errors.ts';

/**
 * What a caller is told of anything that was thrown. The one place that masks: whatever is not known here is
 * an internal error, its reason kept as the cause for the log.
 */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (!(error instanceof GraphQLError)) return new InternalError(error);
  if (error.originalError) return asGatewayError(error.originalError);
  // Of its own graphql-js only throws at execution what is wrong with an argument or with our resolvers; its
  // words may hold the whole value.
  if (error.path !== undefined) {
    const [, argument] = /^Argument "(\w+)"/.exec(error.message) ?? [];
    if (argument === undefined) return new InternalError(error);
    return new ValidationError([{ path: [argument], message: 'is not valid', value: null }]);
  }
  // Parsing, validation and the transport: their messages are made safe where they are thrown.
  return new BadRequestError(error.message);
}

/** A GraphQL error as a client reads it: without what only the transport looks at. */
export function shownError(error: GraphQLError): GraphQLFormattedError {
  const { extensions: { http: _http, ...extensions } = {}, ...rest } = error.toJSON();
  return { ...rest, extensions };
}

/** A thrown error as a GraphQL error with `extensions.code`, and with items where there are any. */
export function toGraphQLError(error: unknown): GraphQLError {
  const known = asGatewayError(error);
  const { nodes, source, positions, path, extensions } =
    error instanceof GraphQLError ? error : new GraphQLError('');
  return new GraphQLError(known.message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    originalError: known,
    extensions: {
      code: known.code,
      ...(known.faults.length > 0 && { errors: itemsOf(known) }),
      ...(known instanceof RateLimitedError && { retryAfter: known.retryAfter }),
      // An error of one field leaves the reply at 200; one of the whole request decides its status.
      ...(path === undefined && { http: extensions.http ?? httpOf(known) }),
    },
  });
}

/**
 * Status and headers of a reply that an error decides. `spec` leaves a well-formed request that failed
 * before execution at 200 for clients that accept `application/json` alone (GraphQL over HTTP, section 6.4.1).
 */
export function httpOf(error: GatewayError) {
  const challenge = challengeOf(error);
  return {
    status: graphqlStatusOf(error.code),
    spec: error.code === 'BAD_REQUEST' || error.code === 'VALIDATION_FAILED',
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
