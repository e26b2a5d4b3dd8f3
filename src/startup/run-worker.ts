import { Registry } from 'prom-client';
import { OperatorError } from '../errors/operator-error.ts';
import { createHub } from '../live/hub.ts';
import { startLiveEvents } from '../live/live-events.ts';
import { listDeliveryLines } from '../process/start-lines.ts';
import { type AdminServer, startAdminServer } from '../server/monitoring.ts';
import { createDelivery } from './create-delivery.ts';
import { defineService } from './define-service.ts';

/** Sends deliveries without serving the APIs. */
export const runWorker = defineService(async (config, database, log) => {
  const metrics = new Registry();
  const delivery = createDelivery(config, metrics, log);
  // A worker has no subscribers; announcements only wake the sender.
  const hub = createHub(0, { onChange: delivery.onChange });
  const timing = { timeoutMs: config.databaseTimeoutMs, sweepMs: config.liveSweepMs };
  const live = startLiveEvents(database, hub, timing, log);
  let admin: AdminServer | undefined;
  let isStopping = false;
  try {
    const readiness = { database, isStopping: () => isStopping, live, keySet: {} };
    admin = await startAdminServer(config, readiness, metrics, log);
    if (!(await delivery.start(database.em))) {
      throw new OperatorError(
        'This worker cannot send: set SMTP_URL, VAPID_PRIVATE_KEY or CHAT_TOKEN, and do not set DELIVERY=false.',
      );
    }
  } catch (error) {
    admin?.close();
    await live.close();
    throw error;
  }
  return {
    metrics,
    startLines: [
      'Sending notifications',
      ...(admin ? [`Admin     ${admin.address}`] : []),
      ...listDeliveryLines(config),
    ],
    async close(graceMs) {
      isStopping = true;
      await delivery.stop(graceMs);
      await live.close();
      admin?.close();
    },
  };
});
