import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { toErrorResponse } from '../../rest/errors.ts';
import { createApp } from '../app/app.ts';
import { type KeySet, openKeySet, prefetchKeySet } from '../auth/key-set.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { createDraining } from '../http/draining.ts';
import { listen } from '../http/listen.ts';
import { limitPipelining } from '../http/pipelining.ts';
import { rejectMalformed } from '../http/reject-malformed.ts';
import { destroyStalledSockets } from '../http/stalled-writes.ts';
import { timeouts as defaultTimeouts, type Timeouts } from '../http/timeouts.ts';
import { createHub, type Hub } from '../live/hub.ts';
import { type LiveEvents, startLiveEvents } from '../live/live-events.ts';
import { watchTokens } from '../live/watch-tokens.ts';
import type { Log } from '../log.ts';
import { createEventDelay } from '../metrics/event-delay.ts';
import { startRetention } from '../notifications/retention.ts';
import { logConnection } from '../rate-limit/redis-log.ts';
import { type AdminServer, startAdminServer } from '../server/monitoring.ts';
import { createDelivery } from './create-delivery.ts';

/** A listening gateway. */
export type Gateway = {
  /** The URL with the actual port: `http://127.0.0.1:4000`. */
  address: string;
  /** The registry behind `/metrics`; `defineService` adds process metrics. */
  metrics: Registry;
  /** The URL of the admin server, if configured. */
  adminAddress: string | undefined;
  /**
   * Fails readiness checks, waits for `SHUTDOWN_DELAY_MS`, ends the live streams, closes the port, and waits up to
   * `graceMs` for running requests and deliveries.
   */
  close(graceMs: number): Promise<void>;
};

/** Creates all parts of the gateway and listens. The caller closes the database. */
export async function startGateway(
  config: Config,
  database: Database,
  log: Log,
  timeouts: Timeouts = defaultTimeouts,
): Promise<Gateway> {
  const redis = await connectToRedis(config.redisUrl);
  const metrics = new Registry();
  const delivery = createDelivery(config, metrics, log);
  const hub = createHub(config.maxSubscribers, {
    observeDelay: createEventDelay(metrics),
    onChange: delivery.onChange,
  });
  const keySet = await openKeySet(config.keySet, config.dataDir);
  const { stalledWriteTimeout, ...httpTimeouts } = timeouts;
  const server = createHttpServer({ requireHostHeader: false, optimizeEmptyRequests: true, ...httpTimeouts });
  const draining = createDraining(server);
  const timing = { timeoutMs: config.databaseTimeoutMs, sweepMs: config.liveSweepMs };
  const live = startLiveEvents(database, hub, timing, log);
  rejectMalformed(server, (error) => JSON.stringify(toErrorResponse(error)));
  let address: string;
  let admin: AdminServer | undefined;
  try {
    const publicUrl = () => config.publicUrl ?? address;
    const isStopping = () => draining.isOn;
    const { outbox } = delivery;
    const parts = { redis, outbox, hub, keySet, live, metrics, publicUrl, isStopping };
    const app = await createApp(config, database, log, parts);
    serveRequests(server, app, stalledWriteTimeout);
    admin = await startAdminServer(config, { database, isStopping, live, keySet }, metrics, log);
    address = await listen(server, config);
    await delivery.start(database.em);
  } catch (error) {
    server.close();
    admin?.close();
    redis?.disconnect();
    await live.close();
    throw error;
  }
  if (redis) logConnection(redis, log);
  const periodicWork = startPeriodicWork(config, database, { keySet, hub, live }, log);
  return {
    address,
    metrics,
    adminAddress: admin?.address,
    async close(graceMs) {
      draining.start();
      log.info({ delayMs: config.shutdownDelayMs, running: draining.running }, 'stopping');
      if (config.shutdownDelayMs > 0) await pause(config.shutdownDelayMs);
      hub.close();
      const [cut] = await Promise.all([draining.finish(graceMs), delivery.stop(graceMs)]);
      if (cut > 0) {
        log.warn({ cut, graceMs }, 'grace period exceeded; remaining requests were cut off');
        database.abandonQueries();
      }
      admin?.close();
      await periodicWork.stop();
      await live.close();
      redis?.disconnect();
    },
  };
}

/**
 * Starts what runs independently of requests: fetching the key set, ending the streams of tokens that are no longer
 * valid, and deleting settled notifications.
 */
function startPeriodicWork(
  config: Config,
  database: Database,
  { keySet, hub, live }: { keySet: KeySet; hub: Hub; live: LiveEvents },
  log: Log,
): { stop(): Promise<void> } {
  const fetching = prefetchKeySet(keySet, log);
  const tokens = watchTokens(keySet, hub);
  const dependencies = { em: database.em, announce: live.announce };
  const retention = startRetention(dependencies, config.notificationRetentionDays, log);
  return {
    async stop() {
      fetching.stop();
      tokens.stop();
      await retention.stop();
    },
  };
}

/** Serves the requests of a server, and destroys sockets whose client does not read the replies. */
function serveRequests(server: Server, app: RequestListener, stalledWriteTimeout: number): void {
  const { listener, isServing } = limitPipelining(app);
  server.on('request', listener);
  // Without this listener, Node.js replies 417 to any expectation other than 100-continue.
  server.on('checkExpectation', listener);
  destroyStalledSockets(server, isServing, stalledWriteTimeout);
}

/** Loads the client only if Redis is configured. */
async function connectToRedis(url: string | null): Promise<Redis | undefined> {
  if (url === null) return undefined;
  const { openRedis } = await import('../rate-limit/redis.ts');
  return openRedis(url);
}
