import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import express, { type NextFunction } from 'express';
import type { Redis } from 'ioredis';
import type { Registry } from 'prom-client';
import { sendError } from '../rest/errors.ts';
import { serveOpenApi } from '../rest/openapi/document.ts';
import { createRestRouter, routes } from '../rest/router.ts';
import { serveHealth, serveReadiness } from './admin/health.ts';
import { METRICS_PATH, serveMetrics } from './admin/metrics-endpoint.ts';
import { createAuthenticate, openTokens } from './auth/authenticate.ts';
import { developmentEncryptionKeys } from './auth/development-key.ts';
import type { KeySet } from './auth/key-set.ts';
import { anonymous } from './auth/viewer.ts';
import type { Config } from './config.ts';
import type { Context } from './context.ts';
import type { Database } from './database/database.ts';
import { createCredentialCipher } from './encryption/credential-cipher.ts';
import {
  type GatewayError,
  InternalError,
  NotFoundError,
  UnauthenticatedError,
} from './errors/gateway-errors.ts';
import { createEngine } from './graphql/execution/engine.ts';
import { asGatewayError } from './graphql/mask.ts';
import { createGraphQLEndpoint } from './graphql/server/endpoint.ts';
import { GRAPHQL_PATH } from './graphql/server/graphql-path.ts';
import { requestPath } from './http/address.ts';
import { allowOrigins } from './http/cors.ts';
import { checkHost } from './http/malformed.ts';
import { createRequestLog, type RequestRecord } from './http/request-log.ts';
import { createRouteNames } from './http/route-names.ts';
import { securityHeaders } from './http/security-headers.ts';
import type { Hub } from './live/hub.ts';
import type { LiveEvents } from './live/live-events.ts';
import { type Log, logInternalError } from './log.ts';
import { createCredentialMetrics } from './metrics/credential-metrics.ts';
import type { EventMetrics } from './metrics/event-metrics.ts';
import { createRequestMetrics } from './metrics/request-metrics.ts';
import { createStateMetrics } from './metrics/state-metrics.ts';
import { createGraphiql } from './pages/graphiql.ts';
import { createPageToken } from './pages/graphiql-token.ts';
import { REFERENCE_PATHS, serveReference } from './pages/reference.ts';
import { createCounters } from './rate-limit/counters.ts';
import { createRateLimiter, quotaHeaders } from './rate-limit/rate-limiter.ts';
import { ReadTurns } from './rate-limit/read-turns.ts';
import { createSchema } from './schema.ts';
import { countCredentialsByState } from './statistics/statistics.ts';
import { lazy } from './values/lazy.ts';
import { toTime } from './values/time.ts';

/** The templates of all addresses, as metrics name them. */
const PATHS = [
  ...routes.map(({ path }) => path),
  GRAPHQL_PATH,
  `${GRAPHQL_PATH}/assets/{file}`,
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/docs/assets/{file}',
  METRICS_PATH,
];

/** What all requests share. */
export type Shared = {
  redis: Redis | undefined;
  hub: Hub;
  keySet: KeySet;
  metrics: Registry;
  events: EventMetrics;
  /** The address that callers see, once it is known. */
  publicUrl(): string;
  live: LiveEvents;
  isStopping(): boolean;
};

/** Builds what answers requests. */
export async function createApp(
  config: Config,
  database: Database,
  log: Log,
  shared: Shared,
): Promise<RequestListener> {
  const { redis, hub, keySet, live, metrics, events, publicUrl, isStopping } = shared;
  const { issuer, audience, orgClaim } = config;
  const tokens = openTokens({ keySet, issuer, audience, orgClaim });
  const authenticate = createAuthenticate(tokens);
  const keys = config.encryptionKeys ?? (await developmentEncryptionKeys(config.dataDir));
  const cipher = createCredentialCipher(keys);
  const rateLimiter = createRateLimiter(
    config.limits,
    createCounters(config.limits, redis, events.countedInMemory),
  );
  const schema = createSchema(rateLimiter);
  const engine = createEngine(schema, rateLimiter);
  const openRecord = createRequestLog(log, createRequestMetrics(metrics, createRouteNames(PATHS), schema));
  createStateMetrics(metrics, {
    liveSubscribers: () => hub.size,
    isListening: () => live.state === 'ok',
    pools: database.pools,
    cachedTokens: () => tokens.size,
    keySetAge: () => keySet.age?.(),
    isRedisUp: redis && (() => redis.status === 'ready'),
  });
  // One for all requests: nothing is ever loaded into it, and a transaction forks its own.
  const em = database.em.fork();
  createCredentialMetrics(metrics, () => countCredentialsByState(em, cipher));
  const readTurns = new ReadTurns();
  const records = new WeakMap<ServerResponse, RequestRecord>();

  const requireRecord = (response: ServerResponse): RequestRecord => {
    const record = records.get(response);
    if (record === undefined) throw new Error('The request was not recorded.');
    return record;
  };

  const open = async (
    request: IncomingMessage,
    response: ServerResponse,
    as?: typeof anonymous,
  ): Promise<Context> => {
    const record = requireRecord(response);
    const viewer = as ?? (await authenticate(request));
    record.user = viewer.userId;
    return {
      em,
      viewer,
      now: toTime(new Date()),
      log: record.log,
      operations: record.operations,
      failures: record.failures,
      cipher,
      hub,
      readTurns,
      announce: live.announce,
      onLeave: (leave) => void (response.destroyed ? leave() : response.once('close', leave)),
      charges: { counted: viewer === anonymous, paid: { reads: 0, writes: 0, platform: 0 } },
    };
  };

  const settle = async ({ viewer, charges }: Context, response: ServerResponse): Promise<void> => {
    await rateLimiter.chargeRefused({ viewer, charges });
    for (const [name, value] of quotaHeaders(charges)) response.setHeader(name, value);
  };

  const fail = (error: unknown, response: ServerResponse): GatewayError => {
    const known = asGatewayError(error);
    const { log, failures } = requireRecord(response);
    if (failures.length === 0) failures.push({ code: known.code });
    if (known instanceof InternalError) logInternalError(log, known);
    if (known instanceof UnauthenticatedError) log.info({ reason: known.reason }, 'token refused');
    return known;
  };

  // Loading Yoga takes as long as a sixth of the start.
  const openResponder = lazy(async () => {
    const { createResponder } = await import('./graphql/server/yoga.ts');
    return createResponder(schema);
  });
  const graphql = createGraphQLEndpoint({
    engine,
    rateLimiter,
    openResponder,
    openIntrospection: config.graphiql,
    open,
    settle,
    fail,
  });

  const app = express().disable('x-powered-by');
  // Express would give requests and replies other prototypes, which makes all that is done with them slower.
  Object.assign(app, { request: IncomingMessage.prototype, response: ServerResponse.prototype });
  // Express would answer by itself which methods there are.
  app.options(/.*/, (_request, response) => sendError(response, new NotFoundError()));
  app.use(createRestRouter({ schema, engine, open, settle, fail }));
  const graphiql = config.graphiql ? createGraphiql(createPageToken(config)) : undefined;
  if (graphiql) app.use(graphiql);
  app.get(/^\/healthz$/, (_request, response) => serveHealth(response));
  const readiness = { database, isStopping, live, keySet };
  app.get(/^\/readyz$/, (_request, response) =>
    serveReadiness(response, readiness, requireRecord(response).log),
  );
  if (config.admin === null && config.metrics.kind !== 'off') {
    const token = config.metrics.kind === 'token' ? config.metrics.token : undefined;
    app.get(/^\/metrics$/, (request, response) => serveMetrics(request, response, metrics, token));
  }
  app.get(/^\/openapi\.json$/, serveOpenApi(schema, publicUrl));
  app.get(REFERENCE_PATHS, serveReference());
  app.use((_request, response) => sendError(response, new NotFoundError()));
  app.use((error: unknown, _request: IncomingMessage, response: ServerResponse, _next: NextFunction) => {
    sendError(response, fail(error, response));
  });

  const answerGraphQL: RequestListener = (request, response) => {
    const answer = (error?: unknown) =>
      (error === undefined ? graphql(request, response) : Promise.reject(error)).catch((failure: unknown) => {
        if (response.headersSent) response.destroy();
        else sendError(response, fail(failure, response));
      });
    if (graphiql === undefined || request.method === 'POST') void answer();
    else graphiql(request, response, answer);
  };

  const secure = securityHeaders();
  const allowCrossOrigin = allowOrigins(config.corsOrigins);
  return (request, response) => {
    records.set(response, openRecord(request, response));
    secure(response);
    allowCrossOrigin(request, response, () => {
      try {
        checkHost(request);
      } catch (error) {
        return sendError(response, fail(error, response));
      }
      // Express answers every other path, and OPTIONS.
      if (requestPath(request) === GRAPHQL_PATH && request.method !== 'OPTIONS')
        answerGraphQL(request, response);
      else app(request, response);
    });
  };
}
