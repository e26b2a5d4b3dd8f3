import type { DeliveryConfig } from '../config.ts';
import type { Outbox } from '../database/outbox.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import { cancelUnwantedDeliveries } from './cancel-deliveries.ts';
import { insertDeliveries } from './insert-deliveries.ts';

/** Creates the outbox of the configured channels. Rows are queued whether or not this process sends them. */
export function createOutbox(config: DeliveryConfig): Outbox {
  const channels = new Set(deliveryChannels.filter((channel) => config[channel] !== null));
  const emailDelay = config.email?.delaySeconds ?? 0;
  const enabled = { email: channels.has('email'), push: channels.has('push'), chat: channels.has('chat') };

  return {
    channels,
    async queuePublished(run, { users, ids }) {
      if (channels.size > 0) await run(insertDeliveries, { users, ids, emailDelay, ...enabled });
    },
    async cancelUnwanted(run, users) {
      if (channels.size > 0) await run(cancelUnwantedDeliveries, { users });
    },
  };
}
