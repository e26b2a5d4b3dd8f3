import type { RequestListener } from 'node:http';
import type { Redis } from 'ioredis';
import type { Registry } from 'prom-client';
import { sendError } from '../../rest/errors.ts';
import { createAuthenticate, createTokenVerifier, type TokenCache } from '../auth/authenticate.ts';
import type { KeySet } from '../auth/key-set.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { createUnsubscribeEndpoint } from '../delivery/email/unsubscribe-endpoint.ts';
import { createUnsubscribeTokens } from '../delivery/email/unsubscribe-token.ts';
import { createPushRegistration } from '../delivery/push/create-push-registration.ts';
import { createCredentialCipher } from '../encryption/credential-cipher.ts';
import { readEncryptionKeys } from '../encryption/encryption-keys.ts';
import { createEngine } from '../graphql/execution/engine.ts';
import { checkHost } from '../http/check-host.ts';
import { allowOrigins } from '../http/cors.ts';
import { createRequestLog } from '../http/request-log.ts';
import { createRouteNames } from '../http/route-names.ts';
import { setSecurityHeaders } from '../http/security-headers.ts';
import { runInOrder } from '../http/steps.ts';
import type { Hub } from '../live/hub.ts';
import type { LiveEvents } from '../live/live-events.ts';
import type { Log } from '../log.ts';
import { createCredentialMetrics } from '../metrics/credential-metrics.ts';
import { createFallbackCounter } from '../metrics/rate-limit-fallbacks.ts';
import { createRequestMetrics } from '../metrics/request-metrics.ts';
import { createStateMetrics } from '../metrics/state-metrics.ts';
import { createPointCounters } from '../rate-limit/point-counters.ts';
import { createRateLimiter } from '../rate-limit/rate-limiter.ts';
import type { Outbox } from '../revisions/outbox.ts';
import { schema } from '../schema.ts';
import { countCredentialsByState } from '../statistics/statistics.ts';
import { createEndpoints, PATHS } from './endpoints.ts';
import { createLifecycle, type RequestLifecycle } from './request-lifecycle.ts';

/** The parts of the server that request handling uses. */
export type ServerParts = {
  redis: Redis | undefined;
  outbox: Outbox;
  hub: Hub;
  keySet: KeySet;
  metrics: Registry;
  /** The URL that clients use, known once the server listens. */
  publicUrl(): string;
  live: LiveEvents;
  isStopping(): boolean;
};

/**
 * The steps of every request, in order. The endpoints of both APIs continue with the steps of `handle` in
 * request-lifecycle.ts: authentication, context, the operation, error conversion, quota headers.
 */
function createListener(
  { start, fail }: RequestLifecycle,
  corsOrigins: readonly string[],
  endpoints: RequestListener,
): RequestListener {
  const steps = [start, setSecurityHeaders, allowOrigins(corsOrigins), checkHost, endpoints];
  return runInOrder(steps, (error, response) => sendError(response, fail(error, response)));
}

/** Creates the listener for all requests and its dependencies. */
export async function createApp(
  config: Config,
  database: Database,
  log: Log,
  parts: ServerParts,
): Promise<RequestListener> {
  const { redis, outbox, hub, keySet, live, metrics, publicUrl, isStopping } = parts;
  const { issuer, audience, orgClaim, limits } = config;
  const tokens = createTokenVerifier({ keySet, issuer, audience, orgClaim });
  const keys = await readEncryptionKeys(config);
  const cipher = createCredentialCipher(keys);
  const { em } = database;
  const push = createPushRegistration(config.delivery.push, keys);
  const rateLimiter = createRateLimiter(
    limits,
    createPointCounters(limits, redis, createFallbackCounter(metrics)),
  );
  observeState(database, tokens, parts);
  createCredentialMetrics(metrics, () => countCredentialsByState(em, cipher));

  const lifecycle = createLifecycle({
    openRecord: createRequestLog(log, createRequestMetrics(metrics, createRouteNames(PATHS), schema)),
    authenticate: createAuthenticate(tokens),
    dependencies: { em, cipher, hub, announce: live.announce, outbox, push, rateLimiter },
  });
  const endpoints = createEndpoints({
    config,
    schema,
    engine: createEngine(schema),
    lifecycle,
    readiness: { database, isStopping, live, keySet },
    metrics,
    unsubscribe: createUnsubscribeEndpoint({ tokens: createUnsubscribeTokens(keys), em, outbox }),
    publicUrl,
  });
  return createListener(lifecycle, config.corsOrigins, endpoints);
}

function observeState(
  { pools }: Database,
  tokens: TokenCache,
  { redis, hub, keySet, live, metrics }: ServerParts,
): void {
  createStateMetrics(metrics, {
    liveSubscribers: () => hub.size,
    isListening: () => live.problem === undefined,
    pools,
    cachedTokens: () => tokens.size,
    keySetAge: () => keySet.age?.(),
    isRedisUp: redis && (() => redis.status === 'ready'),
  });
}
