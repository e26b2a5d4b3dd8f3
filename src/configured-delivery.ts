import type { Registry } from 'prom-client';
import type { Config } from './config.ts';
import type { EntityManager } from './database/database.ts';
import { readBacklog } from './delivery/deliveries.ts';
import type { Sender } from './delivery/sender.ts';
import { startDelivery } from './delivery/start-delivery.ts';
import { readEncryptionKeys } from './encryption/encryption-keys.ts';
import type { Log } from './log.ts';
import { createBacklogMetrics, createDeliveryMetrics } from './metrics/delivery-metrics.ts';
import type { Outbox } from './revisions/outbox.ts';

/** Starts to send over the configured channels. Returns `undefined` if there are none, or if this process does not send. */
export async function startConfiguredDelivery(
  config: Config,
  outbox: Outbox,
  em: EntityManager,
  registry: Registry,
  log: Log,
): Promise<Sender | undefined> {
  const { channels } = outbox;
  if (channels.size === 0) return undefined;
  createBacklogMetrics(registry, channels, () => readBacklog(em));
  if (!config.delivery.sends) return undefined;
  const keys = await readEncryptionKeys(config);
  const metrics = createDeliveryMetrics(registry);
  return startDelivery(config.delivery, { em, outbox, keys, publicUrl: config.publicUrl, metrics, log });
}
