import type { DeliveryConfig } from '../config.ts';
import type { EntityManager } from '../database/database.ts';
import type { SubscriptionCipher } from '../encryption/subscription-cipher.ts';
import type { Log } from '../log.ts';
import type { DeliveryMetrics } from '../metrics/delivery-metrics.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { createOutbox } from './outbox.ts';
import { createProviders } from './providers.ts';
import { type Sender, startSender } from './sender.ts';
import { createTransport, type Transport } from './transport.ts';

/** What the configured channels need. */
export type DeliveryParts = {
  em: EntityManager;
  subscriptionCipher: SubscriptionCipher;
  metrics: DeliveryMetrics;
  log: Log;
};

/** Starts to send over the configured channels. Loads only the modules of these. */
export async function startDelivery(config: DeliveryConfig, parts: DeliveryParts): Promise<Sender> {
  return startSender({
    ...parts,
    outbox: createOutbox(config),
    transports: await openTransports(config, parts),
    providers: createProviders(),
    appUrl: config.appUrl,
  });
}

async function openTransports(
  { email, push, chat }: DeliveryConfig,
  { subscriptionCipher, log }: DeliveryParts,
): Promise<ReadonlyMap<DeliveryChannel, Transport>> {
  const transports = new Map<DeliveryChannel, Transport>();
  if (push !== null) {
    const { createPushChannel } = await import('./push/push-channel.ts');
    const transport = createTransport(createPushChannel(push), async ({ userId, target, ciphertext }) => {
      if (ciphertext === null) return undefined;
      try {
        return await subscriptionCipher.decrypt(ciphertext, { userId, id: target });
      } catch (error) {
        log.error({ err: error, user: userId }, 'a push subscription cannot be decrypted');
        return undefined;
      }
    });
    transports.set('push', transport);
  }
  if (chat !== null) {
    const { createChatChannel } = await import('./chat/chat-channel.ts');
    const findMember = async (memberId: string | null) => (memberId === null ? undefined : { memberId });
    transports.set(
      'chat',
      createTransport(createChatChannel(chat), ({ chatMemberId }) => findMember(chatMemberId)),
    );
  }
  return transports;
}
