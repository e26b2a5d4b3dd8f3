import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { toErrorResponse } from '../../rest/errors.ts';
import { keepRefreshing } from '../auth/key-set.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { watchTokens } from '../live/watch-tokens.ts';
import type { Log } from '../log.ts';
import { startRequestSweep } from '../notifications/answers/sweep.ts';
import { startRetention } from '../notifications/retention.ts';
import { startFeedRetention } from '../platform-feed/retention.ts';
import { logConnection } from '../quota/limiters.ts';
import { createServices, type Services } from '../services.ts';
import { startCounting } from '../statistics/count.ts';
import { createApp } from './app.ts';
import { createConnections, timeouts as defaultTimeouts } from './connections.ts';
import { listen } from './listen.ts';
import { rejectMalformed } from './malformed-requests.ts';
import { type AdminServer, startAdminServer } from './monitoring.ts';
import { listStartLines } from './start-lines.ts';

/** Serves the APIs, and sends deliveries unless `DELIVERY` is `false`. The caller closes the database. */
export async function startGateway(config: Config, database: Database, log: Log, timeouts = defaultTimeouts) {
  const services = await createServices(config, database, log);
  const { stalledWriteTimeout, ...httpTimeouts } = timeouts;
  const server = createServer({ requireHostHeader: false, optimizeEmptyRequests: true, ...httpTimeouts });
  const connections = createConnections(server, stalledWriteTimeout);
  rejectMalformed(server, connections, (error) => JSON.stringify(toErrorResponse(error)));
  let address: string;
  let admin: AdminServer | undefined;
  try {
    const isStopping = () => connections.isDraining;
    const app = createApp(services, () => config.publicUrl ?? address, isStopping);
    connections.serve(app);
    admin = await startAdminServer(config, { ...services, isStopping }, services.metrics, log);
    address = await listen(server, config);
    await services.delivery.start(database);
  } catch (error) {
    server.close();
    admin?.close();
    await services.close();
    throw error;
  }
  if (services.redis) logConnection(services.redis, log);
  const periodicWork = startPeriodicWork(services);
  const addresses = { address, adminAddress: admin?.address };
  return {
    ...addresses,
    metrics: services.metrics,
    startLines: listStartLines(config, { ...addresses, pageKey: services.pageKey }),
    async close(graceMs: number): Promise<void> {
      // From now on, readiness checks fail, so that load balancers stop sending requests.
      connections.startDraining();
      log.info({ delayMs: config.shutdownDelayMs, running: connections.countRunning() }, 'stopping');
      if (config.shutdownDelayMs > 0) await pause(config.shutdownDelayMs);
      // Closes the port first, so that the clients of the streams that end next subscribe elsewhere.
      const closing = connections.close(graceMs);
      services.hub.close();
      const [cut] = await Promise.all([closing, services.delivery.stop(graceMs)]);
      if (cut > 0) {
        log.warn({ cut, graceMs }, 'grace period exceeded; remaining requests were cut off');
        database.abandonQueries();
      }
      admin?.close();
      await periodicWork.stop();
      await services.close();
    },
  };
}

/**
 * Starts what runs independently of requests: fetching the key set, ending the streams of tokens that are no longer
 * valid, settling expired requests, deleting settled notifications and old platform events, and counting the records for
 * the statistics.
 */
function startPeriodicWork({ config, database, keySet, hub, shared, log }: Services) {
  const refreshing = keepRefreshing(keySet, log);
  const tokens = watchTokens(keySet, hub);
  const requests = startRequestSweep(shared, log);
  const retention = startRetention(shared, config.notificationRetentionDays, log);
  const feedRetention = startFeedRetention(database, log);
  const counting = startCounting(database, log);
  return {
    async stop(): Promise<void> {
      refreshing.stop();
      tokens.stop();
      await Promise.all([requests.stop(), retention.stop(), feedRetention.stop(), counting.stop()]);
    },
  };
}
