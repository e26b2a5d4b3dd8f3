import type { GraphQLSchema } from 'graphql';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { CompletedRequest } from '../server/request-log.ts';

/** Methods with their own label; any other is `_OTHER` (OpenTelemetry, HTTP semantic conventions). */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** In seconds. Most requests take a few milliseconds. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * In seconds. A stream ends when its token expires; many short streams indicate clients whose streams keep breaking.
 */
const STREAM_BUCKETS = [1, 10, 60, 300, 900, 3600, 14_400];

/** The label of requests with several root fields. */
const SEVERAL = 'several';

/**
 * Registers the metrics of requests and returns a function that records a request. Label values come from routes, the
 * schema and closed lists, so that clients cannot create time series.
 */
export function createRequestMetrics(
  registry: Registry,
  schema: GraphQLSchema,
  kinds: readonly string[],
): (request: CompletedRequest) => void {
  const operationTypes = listOperationTypes(schema);
  const { requests, operations, streams, errors, publications, answers } = registerMetrics(registry);
  // So that the first publication is seen as an increase.
  for (const kind of kinds) publications.inc({ kind }, 0);

  return ({ method, route, status, seconds, operations: fields, failures, published, answered }) => {
    for (const { kind, created } of published) if (created) publications.inc({ kind });
    answers.inc(answered.length);
    const [first = ''] = fields;
    const field = fields.size > 1 ? SEVERAL : first;
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
        http_route: route ?? 'unmatched',
        http_response_status_code: status ?? 'aborted',
      },
      seconds,
    );
    if (type !== undefined) {
      operations.observe({ graphql_operation_type: type, graphql_root_field: field }, seconds);
    }
  };
}

function registerMetrics(registry: Registry) {
  const registers = [registry];
  const requests = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its reply, without live streams.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: REQUEST_BUCKETS,
    registers,
  });
  const operations = new Histogram({
    name: 'graphql_operation_duration_seconds',
    help: 'Duration of requests by root field, for REST and GraphQL.',
    labelNames: ['graphql_operation_type', 'graphql_root_field'],
    buckets: REQUEST_BUCKETS,
    registers,
  });
  const streams = new Histogram({
    name: 'graphql_subscription_duration_seconds',
    help: 'Duration of live streams, recorded when they end.',
    labelNames: ['graphql_root_field'],
    buckets: STREAM_BUCKETS,
    registers,
  });
  const errors = new Counter({
    name: 'gateway_errors_total',
    help: 'Errors returned to callers by code. The root field is empty if the request was rejected before it was known.',
    labelNames: ['graphql_root_field', 'code'],
    registers,
  });
  const publications = new Counter({
    name: 'gateway_notifications_published_total',
    help: 'Published notifications by kind, without those that were stored already.',
    labelNames: ['kind'],
    registers,
  });
  const answers = new Counter({
    name: 'gateway_requests_answered_total',
    help: 'Requests that users answered, without repeated and late answers.',
    registers,
  });
  return { requests, operations, streams, errors, publications, answers };
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
