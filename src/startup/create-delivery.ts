import type { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import type { EntityManager } from '../database/database.ts';
import { bindChannels } from '../delivery/bind-channels.ts';
import { createOutbox } from '../delivery/create-outbox.ts';
import { readBacklog } from '../delivery/deliveries.ts';
import { createProviders } from '../delivery/providers.ts';
import { type Sender, startSender } from '../delivery/sender.ts';
import { readEncryptionKeys } from '../encryption/encryption-keys.ts';
import type { HubObservers } from '../live/hub.ts';
import type { Log } from '../log.ts';
import { createBacklogMetrics, createDeliveryMetrics } from '../metrics/delivery-metrics.ts';
import type { Outbox } from '../revisions/outbox.ts';

/** The delivery of notifications by a gateway or a worker. */
export type Delivery = {
  readonly outbox: Outbox;
  /** Wakes the sender after a change of notifications. The hub calls it with every change. */
  readonly onChange: NonNullable<HubObservers['onChange']>;
  /**
   * Starts to send over the configured channels. Returns `false` if there are none, or if this process does not send.
   */
  start(em: EntityManager): Promise<boolean>;
  /** Stops sending, like {@link Sender.stop}. */
  stop(graceMs: number): Promise<void>;
};

/** Creates the configured delivery. It sends nothing until it is started. */
export function createDelivery(config: Config, registry: Registry, log: Log): Delivery {
  const outbox = createOutbox(config.delivery);
  let sender: Sender | undefined;
  return {
    outbox,
    onChange({ topic }) {
      if (topic === 'notifications') sender?.wake();
    },
    async start(em) {
      const { channels } = outbox;
      if (channels.size === 0) return false;
      createBacklogMetrics(registry, channels, () => readBacklog(em));
      const { publicUrl, delivery } = config;
      if (!delivery.sends) return false;
      const keys = await readEncryptionKeys(config);
      sender = startSender({
        em,
        outbox,
        channels: await bindChannels(delivery, { keys, publicUrl, log }),
        providers: createProviders(),
        appUrl: delivery.appUrl,
        metrics: createDeliveryMetrics(registry),
        log,
      });
      return true;
    },
    stop: async (graceMs) => sender?.stop(graceMs),
  };
}
