import { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { OperatorError } from '../errors/failure.ts';
import type { Log } from '../log.ts';
import { createDelivery, startLive } from '../services.ts';
import { version } from '../version.ts';
import { type AdminServer, startAdminServer } from './monitoring.ts';
import { listDeliveryLines } from './start-lines.ts';

/** Starts to send deliveries, without serving the APIs. */
export async function startWorker(config: Config, database: Database, log: Log) {
  const metrics = new Registry();
  const delivery = createDelivery(config, metrics, log);
  // A worker has no subscribers; announcements only wake the sender.
  const { live } = startLive({ ...config, maxSubscribers: 0 }, database, metrics, delivery.onChange, log);
  let admin: AdminServer | undefined;
  let isStopping = false;
  try {
    const readiness = { database, isStopping: () => isStopping, live, keySet: {} };
    admin = await startAdminServer(config, readiness, metrics, log);
    if (!(await delivery.start(database)))
      throw new OperatorError(
        'This worker cannot send: set SMTP_URL, VAPID_PRIVATE_KEY or CHAT_TOKEN, and do not set DELIVERY=false.',
      );
  } catch (error) {
    admin?.close();
    await Promise.all([delivery.stop(0), live.close()]);
    throw error;
  }
  return {
    metrics,
    startLines: [
      'Sending notifications',
      `Version   ${version}`,
      ...(admin ? [`Admin     ${admin.address}`] : []),
      ...listDeliveryLines(config),
    ],
    async close(graceMs: number): Promise<void> {
      isStopping = true;
      await delivery.stop(graceMs);
      await live.close();
      admin?.close();
    },
  };
}
