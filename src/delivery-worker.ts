import { Registry } from 'prom-client';
import { type AdminServer, startAdminServer } from './admin/admin-server.ts';
import { startConfiguredDelivery } from './configured-delivery.ts';
import { createService } from './create-service.ts';
import { createOutbox } from './delivery/create-outbox.ts';
import type { Sender } from './delivery/sender.ts';
import { OperatorError } from './errors/operator-error.ts';
import { createHub } from './live/hub.ts';
import { startLiveEvents } from './live/live-events.ts';
import { listDeliveryLines } from './process/start-lines.ts';

/** Sends deliveries without serving the APIs. */
export const runWorker = createService(async (config, database, log) => {
  const metrics = new Registry();
  let sender: Sender | undefined;
  // Without subscribers, announcements only wake the sender.
  const hub = createHub(
    { perViewer: 0, total: 0 },
    { onChange: ({ topic }) => void (topic === 'notifications' && sender?.wake()) },
  );
  const timing = { timeoutMs: config.databaseTimeoutMs, sweepMs: config.liveSweepMs };
  const live = startLiveEvents(database, hub, timing, log);
  let admin: AdminServer | undefined;
  let isStopping = false;
  try {
    const readiness = { database, isStopping: () => isStopping, live, keySet: {} };
    admin = await startAdminServer(config, readiness, metrics, log);
    sender = await startConfiguredDelivery(config, createOutbox(config.delivery), database.em, metrics, log);
    if (sender === undefined) {
      throw new OperatorError(
        'There is nothing to send: set SMTP_URL, VAPID_PRIVATE_KEY or CHAT_TOKEN, and do not set DELIVERY=false.',
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
      await sender?.stop(graceMs);
      await live.close();
      admin?.close();
    },
  };
});
