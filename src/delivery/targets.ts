import type { EntityManager } from '@mikro-orm/postgresql';
import type { DeliveryConfig, EncryptionKeys } from '../config.ts';
import { userTransaction } from '../database/transaction.ts';
import { createSubscriptionCipher } from '../encryption/bound-cipher.ts';
import type { OutboxDependencies } from '../live/outbox.ts';
import type { Log } from '../log.ts';
import { insertEvent } from '../platform-events/insert-events.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { type Time, toTime } from '../values/time.ts';
import type { AnswerLinks } from './answers/answer-link.ts';
import { toAsked } from './answers/give-answer.ts';
import { type BoundChannel, bindChannel } from './channel.ts';
import type { DeliveryData } from './claim.ts';
import { Contact, PushSubscription } from './contact.entity.ts';
import { createUnsubscribeTokens } from './email/unsubscribe-token.ts';

/** The dependencies of the channels. */
export type ChannelDependencies = {
  /** Encrypt push subscriptions and sign unsubscribe links. */
  keys: EncryptionKeys;
  /** For unsubscribe links; `null` if it is not configured. */
  publicUrl: string | null;
  /** The links to the answer page. */
  links: AnswerLinks;
  log: Log;
};

/** Creates the configured channels, and binds each to its targets. Loads only their modules. */
export async function bindChannels(
  { email, push, chat }: DeliveryConfig,
  { keys, publicUrl, links, log }: ChannelDependencies,
): Promise<ReadonlyMap<DeliveryChannel, BoundChannel>> {
  const channels = new Map<DeliveryChannel, BoundChannel>();
  if (email !== null) {
    const { createEmailChannel } = await import('./email/email-channel.ts');
    const channel = createEmailChannel(email, { publicUrl, tokens: createUnsubscribeTokens(keys) });
    const findTarget = async ({ email, contactUpdatedAt: updatedAt, notification }: DeliveryData) => {
      if (email === null || updatedAt === null) return undefined;
      const asked = links.areOn ? toAsked(notification) : undefined;
      return { address: email, answerUrl: asked && (await links.create(asked, { email, updatedAt })) };
    };
    channels.set('email', bindChannel(channel, findTarget, log));
  }
  if (push !== null) {
    const { createPushChannel } = await import('./push/push-channel.ts');
    const cipher = createSubscriptionCipher(keys);
    const findTarget = async ({ userId, target, ciphertext }: DeliveryData) => {
      if (ciphertext === null) return undefined;
      try {
        return await cipher.decrypt(ciphertext, { userId, id: target });
      } catch (error) {
        log.error({ err: error, user: userId }, 'a push subscription cannot be decrypted');
        return undefined;
      }
    };
    channels.set('push', bindChannel(createPushChannel(push), findTarget, log));
  }
  if (chat !== null) {
    const { createChatChannel } = await import('./chat/chat-channel.ts');
    // The member may have been removed: `update` finds the message by its receipt and ignores the target.
    const findTarget = async ({ chatMemberId, notification }: DeliveryData) => ({
      memberId: chatMemberId ?? '',
      notification,
    });
    channels.set('chat', bindChannel(createChatChannel(chat), findTarget, log));
  }
  return channels;
}

/**
 * Stops sending to a target that its provider refuses, and cancels the user's other deliveries to it. A target that was
 * replaced or registered again during the attempt is not suspended.
 */
export async function suspendTarget(
  { database, outbox }: OutboxDependencies,
  refused: DeliveryData,
): Promise<void> {
  const now = toTime(new Date());
  await userTransaction(database.fork(), [refused.userId], (em) =>
    refused.channel === 'push' ? removeSubscription(em, refused) : suspend(em, refused.channel, refused, now),
  );
  outbox.note([refused.userId]);
}

const contactProperties = {
  email: { address: 'email', suspendedAt: 'emailSuspendedAt' },
  chat: { address: 'chatMemberId', suspendedAt: 'chatSuspendedAt' },
} as const;

async function suspend(em: EntityManager, channel: 'email' | 'chat', refused: DeliveryData, now: Time) {
  const { userId } = refused;
  const { address, suspendedAt } = contactProperties[channel];
  const contact = await em.findOne(Contact, { userId });
  if (contact === null || contact[address] === null || contact[address] !== refused[address]) return;
  if (contact[suspendedAt] === null) {
    await insertEvent(em, { type: 'contact.suspended', userId, channel });
  }
  contact[suspendedAt] = now;
}

async function removeSubscription(em: EntityManager, { userId, target, ciphertext }: DeliveryData) {
  const subscription = await em.findOne(PushSubscription, { userId, id: target });
  if (subscription !== null && subscription.ciphertext === ciphertext) em.remove(subscription);
}
