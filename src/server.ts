import { createServer as createHttpServer, type Server } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Redis } from 'ioredis';
import { errorResponse, sendError } from '../rest/errors.ts';
import { createRestRouter } from '../rest/router.ts';
import { createAuthenticate } from './auth/authenticate.ts';
import { developmentEncryptionKeys } from './auth/development-key.ts';
import { openKeySet } from './auth/key-set.ts';
import { anonymous } from './auth/viewer.ts';
import type { Config } from './config.ts';
import type { Context } from './context.ts';
import { addressOf, type Database } from './database/database.ts';
import { createCredentialCipher } from './editor-auth/credential-cipher.ts';
import { type GatewayError, InternalError, NotFoundError, UnauthenticatedError } from './errors.ts';
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
import { answerHealth, answerReadiness } from './http/health.ts';
import { listen } from './http/listen.ts';
import { answerMalformed, checkHost } from './http/malformed.ts';
import { createRequestLog, type RequestRecord } from './http/request-log.ts';
import { securityHeaders } from './http/security-headers.ts';
import { type Timeouts, timeouts } from './http/timeouts.ts';
import { createHub, type Hub } from './live/hub.ts';
import { startListener } from './live/listener.ts';
import { type Log, logInternalError } from './log.ts';
import { startRetention } from './notifications/retention.ts';
import { openRedis } from './redis.ts';

/** A gateway that listens. */
export type Gateway = {
  /** `http://127.0.0.1:4000`, with the port that was really taken. */
  address: string;
  /** Takes no new requests, finishes those that run for at most so many milliseconds, and frees the port. */
  close(graceMs: number): Promise<void>;
};

/** Live subscribers that one user may have on one gateway. */
const SUBSCRIBERS_PER_USER = 20;

/** Builds everything once, joins it, and listens. The database stays its caller's. */
export async function startServer(
  config: Config,
  database: Database,
  log: Log,
  patience: Timeouts = timeouts,
): Promise<Gateway> {
  const redis = config.redisUrl === null ? undefined : openRedis(config.redisUrl, log);
  const hub = createHub({ perUser: SUBSCRIBERS_PER_USER, inAll: config.maxSubscribers });
  const server = createHttpServer({ requireHostHeader: false, ...patience });
  answerMalformed(server, (error) => JSON.stringify(errorResponse(error)));
  let address: string;
  try {
    const app = await createApp(config, database, log, { redis, hub });
    server.on('request', app);
    // Any other expectation than 100-continue would be answered 417.
    server.on('checkExpectation', app);
    address = await listen(server, config.host, config.port);
  } catch (error) {
    redis?.disconnect();
    throw error;
  }
  const listener = startListener(addressOf(database), config.databaseTimeoutMs, hub, log);
  const retention = startRetention(database, config.notificationRetentionDays, log);
  return {
    address,
    async close(graceMs) {
      hub.close();
      await close(server, graceMs);
      await Promise.all([listener.close(), retention.stop()]);
      redis?.disconnect();
    },
  };
}

/** Connections to the outside that all requests share. */
type Shared = { redis: Redis | undefined; hub: Hub };

async function createApp(config: Config, database: Database, log: Log, { redis, hub }: Shared) {
  const authenticate = createAuthenticate({
    keySet: await openKeySet(config.keySet, config.dataDir),
    issuer: config.issuer,
    audience: config.audience,
    orgClaim: config.orgClaim,
  });
  const keys = config.encryptionKeys ?? (await developmentEncryptionKeys(config.dataDir));
  const cipher = createCredentialCipher(keys);
  const rateLimiter = createRateLimiter(config.limits, createCounters(config.limits, redis));
  const schema = createSchema(rateLimiter);
  const graphiql = config.graphiql ? await createGraphiql(createPageToken(config)) : undefined;
  const openRecord = createRequestLog(log);
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
      now: new Date(),
      log: record.log,
      operations: record.operations,
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
    const { log } = recordOf(response);
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
  app.get(/^\/readyz$/, (_request, response) => answerReadiness(response, database, recordOf(response).log));
  const yoga = createGraphQLServer(schema, rateLimiter);
  const graphql = createGraphQLHandler({ yoga, openIntrospection: config.graphiql, open, settle, fail });
  app.all(new RegExp(`^${GRAPHQL_PATH}$`), graphql);
  // Express would answer by itself which methods there are.
  app.options(/.*/, (_request, response) => sendError(response, new NotFoundError()));
  app.use(createRestRouter({ schema, prepare: createPrepare(schema), open, settle, fail }));
  app.use((_request, response) => sendError(response, new NotFoundError()));
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendError(response, fail(error, response));
  });
  return app;
}

async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // Connections that are kept alive would hold the server for their idle time.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}
