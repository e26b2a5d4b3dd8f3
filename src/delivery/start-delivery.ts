import type { DeliveryConfig, EncryptionKeys } from '../config.ts';
import type { EntityManager } from '../database/database.ts';
import { createSubscriptionCipher } from '../encryption/subscription-cipher.ts';
import type { Log } from '../log.ts';
import type { DeliveryMetrics } from '../metrics/delivery-metrics.ts';
import type { Outbox } from '../revisions/outbox.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { createUnsubscribeTokens } from './email/unsubscribe-token.ts';
import type { Loaded } from './load-claimed.ts';
import { createProviders } from './providers.ts';
import { type Sender, startSender } from './sender.ts';
import { createTransport, type Transport } from './transport.ts';

/** What the configured channels need. */
export type DeliveryParts = {
  em: EntityManager;
  outbox: Outbox;
  /** Encrypt push subscriptions and sign unsubscribe links. */
  keys: EncryptionKeys;
  /** For unsubscribe links; `null` if it is not configured. */
  publicUrl: string | null;
  metrics: DeliveryMetrics;
  log: Log;
};

/** Starts to send over the configured channels. Loads only the modules of these. */
export async function startDelivery(config: DeliveryConfig, parts: DeliveryParts): Promise<Sender> {
  return startSender({
    ...parts,
    transports: await openTransports(config, parts),
    providers: createProviders(),
    appUrl: config.appUrl,
  });
}

async function openTransports(
  { email, push, chat }: DeliveryConfig,
  { keys, publicUrl, log }: DeliveryParts,
): Promise<ReadonlyMap<DeliveryChannel, Transport>> {
  const transports = new Map<DeliveryChannel, Transport>();
  if (email !== null) {
    const { createEmailChannel } = await import('./email/email-channel.ts');
    const channel = createEmailChannel(email, { publicUrl, tokens: createUnsubscribeTokens(keys) });
    const findTarget = async ({ email: address }: Loaded) => (address === null ? undefined : { address });
    transports.set('email', createTransport(channel, findTarget));
  }
  if (push !== null) {
    const { createPushChannel } = await import('./push/push-channel.ts');
    const cipher = createSubscriptionCipher(keys);
    const transport = createTransport(createPushChannel(push), async ({ userId, target, ciphertext }) => {
      if (ciphertext === null) return undefined;
      try {
        return await cipher.decrypt(ciphertext, { userId, id: target });
      } catch (error) {
        log.error({ err: error, user: userId }, 'a push subscription cannot be decrypted');
        return undefined;
      }
    });
    transports.set('push', transport);
  }
  if (chat !== null) {
    const { createChatChannel } = await import('./chat/chat-channel.ts');
    // Without a member, a message that was sent before is updated: its receipt contains the conversation.
    const findTarget = async ({ chatMemberId }: Loaded) => ({ memberId: chatMemberId ?? '' });
    transports.set('chat', createTransport(createChatChannel(chat), findTarget));
  }
  return transports;
}
