import { defineBatchedRead } from '../database/batched-read.ts';
import { listDeliveries, type NotificationKey } from './deliveries.ts';
import type { ShownDelivery } from './shown-deliveries.ts';

/** Reads the deliveries of a notification, by channel. Concurrent calls become one statement. */
export const readDeliveries = defineBatchedRead<NotificationKey, ShownDelivery[]>(async (database, keys) => {
  const found = Map.groupBy(await listDeliveries(database.fork(), keys), toText);
  return keys.map((key) => found.get(toText(key)) ?? []);
});

function toText({ userId, notificationId }: NotificationKey): string {
  return JSON.stringify([userId, notificationId]);
}
