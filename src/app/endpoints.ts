import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type NextFunction } from 'express';
import type { GraphQLSchema } from 'graphql';
import type { Registry } from 'prom-client';
import { sendError } from '../../rest/errors.ts';
import { createRestRouter, routes } from '../../rest/router.ts';
import type { Config } from '../config.ts';
import type { UnsubscribeEndpoint } from '../delivery/email/unsubscribe-endpoint.ts';
import { UNSUBSCRIBE_PATH } from '../delivery/email/unsubscribe-token.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import type { Engine } from '../graphql/execution/engine.ts';
import { createGraphQLEndpoint } from '../graphql/server/endpoint.ts';
import { GRAPHQL_PATH } from '../graphql/server/graphql-path.ts';
import { resultTypes } from '../graphql/server/media-type.ts';
import { requestPath } from '../http/request-target.ts';
import { toPattern } from '../http/route-names.ts';
import { serveOpenApi } from '../openapi/document.ts';
import { createGraphiql } from '../pages/graphiql.ts';
import { createPageToken } from '../pages/graphiql-token.ts';
import { REFERENCE_PATHS, serveReference } from '../pages/reference.ts';
import { serveStart } from '../pages/start-page.ts';
import { createMonitoring, METRICS_PATH, type Readiness } from '../server/monitoring.ts';
import { lazy } from '../values/lazy.ts';
import type { RequestLifecycle } from './request-lifecycle.ts';

/** The path templates of all endpoints, which metrics use as route names. */
export const PATHS = [
  ...routes.map(({ path }) => path),
  GRAPHQL_PATH,
  `${GRAPHQL_PATH}/assets/{file}`,
  '/healthz',
  '/readyz',
  '/',
  '/openapi.json',
  '/docs',
  '/docs/assets/{file}',
  UNSUBSCRIBE_PATH,
  METRICS_PATH,
];

/** The dependencies of the endpoints. */
export type EndpointsOptions = {
  config: Config;
  schema: GraphQLSchema;
  engine: Engine;
  lifecycle: RequestLifecycle;
  readiness: Readiness;
  metrics: Registry;
  unsubscribe: UnsubscribeEndpoint;
  publicUrl(): string;
};

/** Routes each request to its endpoint. Requests to `/graphql` bypass Express, except OPTIONS. */
export function createEndpoints(options: EndpointsOptions): RequestListener {
  const { config } = options;
  const graphiqlOptions = { path: GRAPHQL_PATH, resultTypes, token: createPageToken(config) };
  const graphiql = config.graphiql ? createGraphiql(graphiqlOptions) : undefined;
  const graphql = createGraphQL(options);
  const { fail } = options.lifecycle;
  const app = express().disable('x-powered-by');
  // By default, Express replies to OPTIONS with the methods of the path.
  app.options(/.*/, (_request, response) => sendError(response, new NotFoundError()));
  app.use(createRestRouter({ ...options, handle: options.lifecycle.handle }));
  if (graphiql) app.use(graphiql);
  app.use(
    createMonitoring({
      readiness: options.readiness,
      registry: options.metrics,
      // With an admin port, metrics are served only there.
      access: config.admin === null ? config.metrics : { kind: 'off' },
      findLog: options.lifecycle.findLog,
    }),
  );
  app.get(/^\/openapi\.json$/, serveOpenApi(options.schema, options.publicUrl));
  app.get(REFERENCE_PATHS, serveReference());
  app.get(/^\/$/, serveStart(config.graphiql));
  app.get(toPattern(UNSUBSCRIBE_PATH), options.unsubscribe.show);
  app.post(toPattern(UNSUBSCRIBE_PATH), options.unsubscribe.accept);
  app.use((_request, response) => sendError(response, new NotFoundError()));
  app.use((error: unknown, _request: IncomingMessage, response: ServerResponse, _next: NextFunction) => {
    sendError(response, fail(error, response));
  });

  return (request, response) => {
    const isGraphQL = requestPath(request) === GRAPHQL_PATH && request.method !== 'OPTIONS';
    if (!isGraphQL) app(request, response);
    else if (graphiql) graphiql(request, response, (error) => graphql(request, response, error));
    else graphql(request, response);
  };
}

/** Serves GraphQL, or sends the error of an earlier handler. */
function createGraphQL({ config, schema, engine, lifecycle }: EndpointsOptions) {
  const { handle, fail } = lifecycle;
  // Loading Yoga takes a sixth of the start-up time, and most requests do not need it.
  const openResponder = lazy(async () => {
    const { createResponder } = await import('../graphql/server/yoga.ts');
    return createResponder(schema);
  });
  const allowsAnonymousIntrospection = config.graphiql;
  const serve = createGraphQLEndpoint({
    engine,
    openResponder,
    allowsAnonymousIntrospection,
    handle,
  });

  return (request: IncomingMessage, response: ServerResponse, error?: unknown): void => {
    const served = error === undefined ? serve(request, response) : Promise.reject(error);
    served.catch((failure: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, fail(failure, response));
    });
  };
}
