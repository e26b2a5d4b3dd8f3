import { Registry } from 'prom-client';
import { startAdminServer } from './admin/admin-server.ts';
import { startConfiguredDelivery } from './configured-delivery.ts';
import { OperatorError } from './errors/operator-error.ts';
import { createHub } from './live/hub.ts';
import { startLiveEvents } from './live/live-events.ts';
import { createService } from './run-service.ts';

/** Sends deliveries without serving the APIs. */
export const runWorker = createService(async (config, database, log) => {
  const metrics = new Registry();
  const sender = await startConfiguredDelivery(config, database.em.fork(), metrics, log);
  if (sender === undefined) {
    throw new OperatorError(
      'There is nothing to send: set SMTP_URL, VAPID_PRIVATE_KEY or CHAT_TOKEN, and do not set DELIVERY=false.',
    );
  }
  // Without subscribers, announcements only wake the sender.
  const hub = createHub({ perViewer: 0, total: 0 }, { onChange: sender.wake });
  const timing = { timeoutMs: config.databaseTimeoutMs, sweepMs: config.liveSweepMs };
  const live = startLiveEvents(database, hub, timing, log);
  let isStopping = false;
  const readiness = { database, isStopping: () => isStopping, live, keySet: {} };
  const admin = await startAdminServer(config, readiness, metrics, log);
  return {
    metrics,
    startLines: ['Sending notifications', ...(admin ? [`Admin     ${admin.address}`] : [])],
    async close(graceMs) {
      isStopping = true;
      await sender.stop(graceMs);
      await live.close();
      admin?.close();
    },
  };
});
