import { createServer as createHttpServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { errorResponse, sendError } from '../rest/errors.ts';
import { answerOpenApi } from '../rest/openapi.ts';
import { createRestRouter, routes } from '../rest/router.ts';
import { createAuthenticate, openTokens } from './auth/authenticate.ts';
import { developmentEncryptionKeys } from './auth/development-key.ts';
import { openKeySet } from './auth/key-set.ts';
import { anonymous } from './auth/viewer.ts';
import type { Config } from './config.ts';
import type { Context } from './context.ts';
import { addressOf, type Database } from './database/database.ts';
import { createCredentialCipher } from './editor-auth/credential-cipher.ts';
import { type GatewayError, InternalError, NotFoundError, UnauthenticatedError } from './errors.ts';
import { createExecute } from './graphql/compiled.ts';
import { createPrepare } from './graphql/execute.ts';
import { asGatewayError } from './graphql/gateway-error.ts';
import { createGraphiql } from './graphql/graphiql.ts';
import { createPageToken } from './graphql/graphiql-token.ts';
import { createGraphQLHandler } from './graphql/handler.ts';
import { createRateLimiter, quotaHeaders } from './graphql/rate-limit.ts';
import { createCounters } from './graphql/rate-limit-counters.ts';
import { createSchema } from './graphql/schema.ts';
import { createGraphQLServer, GRAPHQL_PATH } from './graphql/yoga.ts';
import { allowOrigins } from './http/cors.ts';
import { answerDocs, DOCS_PATHS } from './http/docs.ts';
import { createDraining } from './http/draining.ts';
import { answerHealth, answerReadiness } from './http/health.ts';
import { listen } from './http/listen.ts';
import { answerMalformed, checkHost } from './http/malformed.ts';
import { createRequestLog, type RequestRecord } from './http/request-log.ts';
import { securityHeaders } from './http/security-headers.ts';
import { type Timeouts, timeouts } from './http/timeouts.ts';
import { createHub, type Hub } from './live/hub.ts';
import { type Listener, startListener } from './live/listener.ts';
import { type Log, logInternalError } from './log.ts';
import { answerMetrics, METRICS_PATH } from './metrics/answer-metrics.ts';
import { createCredentialMetrics } from './metrics/credential-metrics.ts';
import { createEventMetrics, type EventMetrics } from './metrics/event-metrics.ts';
import { createRequestMetrics } from './metrics/request-metrics.ts';
import { createStateMetrics } from './metrics/state-metrics.ts';
import { startRetention } from './notifications/retention.ts';
import { openRedis } from './redis.ts';
import { countCredentialsByState } from './statistics/statistics.ts';
import { timeOf } from './time.ts';

/** A gateway that listens. */
export type Gateway = {
  /** `http://127.0.0.1:4000`, with the port that was really taken. */
  address: string;
  /** What `/metrics` tells; the process adds its own. */
  metrics: Registry;
  /**
   * Tells load balancers, waits as configured, then takes no new requests, finishes those that run for at most so
   * many milliseconds, and frees the port.
   */
  close(graceMs: number): Promise<void>;
};

/** Live subscribers that one user may have on one gateway. */
const SUBSCRIBERS_PER_USER = 20;

/** The templates of all addresses, as metrics name them. */
const PATHS = [
  ...routes.map(({ path }) => path),
  GRAPHQL_PATH,
  `${GRAPHQL_PATH}/assets/{file}`,
  '/healthz',
  '/readyz',
  '/openapi.json',
  METRICS_PATH,
];

/** Builds everything once, joins it, and listens. The database stays its caller's. */
export async function startServer(
  config: Config,
  database: Database,
  log: Log,
  patience: Timeouts = timeouts,
): Promise<Gateway> {
  const redis = config.redisUrl === null ? undefined : openRedis(config.redisUrl, log);
  const metrics = new Registry();
  const events = createEventMetrics(metrics);
  const hub = createHub({ perUser: SUBSCRIBERS_PER_USER, inAll: config.maxSubscribers }, events.delivered);
  const server = createHttpServer({ requireHostHeader: false, ...patience });
  const draining = createDraining(server);
  let listener: Listener | undefined;
  answerMalformed(server, (error) => JSON.stringify(errorResponse(error)));
  let address: string;
  try {
    const publicUrl = () => config.publicUrl ?? address;
    const isListening = () => listener?.isUp ?? false;
    const isStopping = () => draining.isOn;
    const shared = { redis, hub, metrics, events, publicUrl, isListening, isStopping };
    const app = await createApp(config, database, log, shared);
    server.on('request', app);
    // Any other expectation than 100-continue would be answered 417.
    server.on('checkExpectation', app);
    address = await listen(server, config);
  } catch (error) {
    redis?.disconnect();
    throw error;
  }
  const listening = startListener(addressOf(database), config.databaseTimeoutMs, hub, log);
  listener = listening;
  const retention = startRetention(database, config.notificationRetentionDays, log);
  return {
    address,
    metrics,
    async close(graceMs) {
      draining.start();
      log.info({ delayMs: config.shutdownDelayMs, running: draining.running }, 'stopping');
      if (config.shutdownDelayMs > 0) await pause(config.shutdownDelayMs);
      hub.close();
      const cut = await draining.finish(graceMs);
      if (cut > 0) {
        log.warn({ cut, graceMs }, 'cut the requests that took too long');
        database.abandonQueries();
      }
      await Promise.all([listening.close(), retention.stop()]);
      redis?.disconnect();
    },
  };
}

/** What all requests share. */
type Shared = {
  redis: Redis | undefined;
  hub: Hub;
  metrics: Registry;
  events: EventMetrics;
  /** The address that callers see, once it is known. */
  publicUrl(): string;
  isListening(): boolean;
  isStopping(): boolean;
};

async function createApp(config: Config, database: Database, log: Log, shared: Shared) {
  const { redis, hub, metrics, events, publicUrl, isListening, isStopping } = shared;
  const keySet = await openKeySet(config.keySet, config.dataDir);
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
  const execute = createExecute(schema);
  const graphiql = config.graphiql ? createGraphiql(createPageToken(config)) : undefined;
  const openRecord = createRequestLog(log, createRequestMetrics(metrics, PATHS, schema));
  createStateMetrics(metrics, {
    liveSubscribers: () => hub.size,
    isListening,
    pool: database.connections,
    rememberedTokens: () => tokens.size,
    keySetAge: () => keySet.age?.(),
    isRedisUp: redis && (() => redis.status === 'ready'),
  });
  createCredentialMetrics(metrics, () => countCredentialsByState(database.em.fork(), cipher));
  const records = new WeakMap<Response, RequestRecord>();

  const recordOf = (response: Response): RequestRecord => {
    const record = records.get(response);
    if (record === undefined) throw new Error('The request was not recorded.');
    return record;
  };

  const open = async (request: Request, response: Response, as?: typeof anonymous): Promise<Context> => {
    const record = recordOf(response);
    const viewer = as ?? (await authenticate(request));
    record.user = viewer.userId;
    return {
      em: database.em.fork(),
      viewer,
      now: timeOf(new Date()),
      log: record.log,
      operations: record.operations,
      failures: record.failures,
      cipher,
      hub,
      onLeave: (leave) => void (response.destroyed ? leave() : response.once('close', leave)),
      charges: { counted: viewer === anonymous },
    };
  };

  const settle = async ({ viewer, charges }: Context, response: Response): Promise<void> => {
    await rateLimiter.chargeRefused({ viewer, charges });
    for (const [name, value] of quotaHeaders(charges)) response.set(name, value);
  };

  const fail = (error: unknown, response: Response): GatewayError => {
    const known = asGatewayError(error);
    const { log, failures } = recordOf(response);
    if (failures.length === 0) failures.push({ code: known.code });
    if (known instanceof InternalError) logInternalError(log, known);
    if (known instanceof UnauthenticatedError) log.info({ reason: known.reason }, 'token refused');
    return known;
  };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.use((request: Request, response: Response, next) => {
    records.set(response, openRecord(request, response));
    next();
  });
  app.use(securityHeaders(), allowOrigins(config.corsOrigins));
  app.use((request: Request, _response: Response, next) => {
    checkHost(request);
    next();
  });
  if (graphiql !== undefined) app.use(graphiql);
  app.get(/^\/healthz$/, (_request, response) => answerHealth(response));
  const readiness = { database, isStopping, isListening };
  app.get(/^\/readyz$/, (_request, response) => answerReadiness(response, readiness, recordOf(response).log));
  if (config.metrics.kind !== 'off') {
    const token = config.metrics.kind === 'token' ? config.metrics.token : undefined;
    app.get(/^\/metrics$/, (request, response) => answerMetrics(request, response, metrics, token));
  }
  const yoga = createGraphQLServer(schema, execute, rateLimiter);
  const graphql = createGraphQLHandler({ yoga, openIntrospection: config.graphiql, open, settle, fail });
  app.all(new RegExp(`^${GRAPHQL_PATH}$`), graphql);
  // Express would answer by itself which methods there are.
  app.options(/.*/, (_request, response) => sendError(response, new NotFoundError()));
  app.use(createRestRouter({ schema, prepare: createPrepare(schema, execute), open, settle, fail }));
  app.get(/^\/openapi\.json$/, answerOpenApi(schema, publicUrl));
  app.get(DOCS_PATHS, answerDocs());
  app.use((_request, response) => sendError(response, new NotFoundError()));
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendError(response, fail(error, response));
  });
  return app;
}
