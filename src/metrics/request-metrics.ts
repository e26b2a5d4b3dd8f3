import type { GraphQLSchema } from 'graphql';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { AnsweredRequest } from '../http/request-log.ts';

/** Methods that are told apart; any other is `_OTHER` (OpenTelemetry, HTTP semantic conventions). */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** In seconds. Most requests take some milliseconds, none should reach the end. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** In seconds. A stream may last as long as its token; many short ones are clients that reconnect in vain. */
const STREAM_BUCKETS = [1, 10, 60, 300, 900, 3600, 14_400];

/** The root field of a request that asks for several. */
const SEVERAL = 'several';

/**
 * Records requests when they are answered. Labels come from the routes, the schema and closed lists, never from a
 * request, so that nobody can make series at will.
 */
export function createRequestMetrics(
  registry: Registry,
  nameRoute: (path: string) => string,
  schema: GraphQLSchema,
): (request: AnsweredRequest) => void {
  const registers = [registry];
  const operationTypes = listOperationTypes(schema);
  const requests = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its reply, live streams left out.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: REQUEST_BUCKETS,
    registers,
  });
  const operations = new Histogram({
    name: 'graphql_operation_duration_seconds',
    help: 'The same time by the root field that was asked for, over both faces.',
    labelNames: ['graphql_operation_type', 'graphql_root_field'],
    buckets: REQUEST_BUCKETS,
    registers,
  });
  const streams = new Histogram({
    name: 'graphql_subscription_duration_seconds',
    help: 'How long live streams lasted that have ended.',
    labelNames: ['graphql_root_field'],
    buckets: STREAM_BUCKETS,
    registers,
  });
  const errors = new Counter({
    name: 'gateway_errors_total',
    help: 'Errors told to callers by code; the root field is empty where the request was refused before it was known.',
    labelNames: ['graphql_root_field', 'code'],
    registers,
  });

  return ({ method, path, status, seconds, operations: asked, failures }) => {
    const [first = ''] = asked;
    const field = asked.size > 1 ? SEVERAL : first;
    for (const { field: failed = field, code } of failures) {
      errors.inc({ graphql_root_field: failed, code: code.toLowerCase() });
    }
    const type = operationTypes.get(first);
    if (type === 'subscription' && status === 200) {
      streams.observe({ graphql_root_field: field }, seconds);
      return;
    }
    requests.observe(
      {
        http_request_method: METHODS.has(method) ? method : '_OTHER',
        http_route: nameRoute(path),
        http_response_status_code: status ?? 'aborted',
      },
      seconds,
    );
    if (type !== undefined) {
      operations.observe({ graphql_operation_type: type, graphql_root_field: field }, seconds);
    }
  };
}

function listOperationTypes(schema: GraphQLSchema): ReadonlyMap<string, string> {
  const roots = {
    query: schema.getQueryType(),
    mutation: schema.getMutationType(),
    subscription: schema.getSubscriptionType(),
  };
  return new Map(
    Object.entries(roots).flatMap(([type, root]) =>
      Object.keys(root?.getFields() ?? {}).map((field): [string, string] => [field, type]),
    ),
  );
}
