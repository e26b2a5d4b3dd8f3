import { sql } from 'kysely';
import type { DeliveryConfig, EncryptionKeys } from '../config.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { type Run, transaction } from '../database/transaction.ts';
import { createSubscriptionCipher } from '../encryption/bound-cipher.ts';
import type { OutboxDependencies } from '../live/outbox.ts';
import type { Log } from '../log.ts';
import { insertPlatformEvents } from '../platform-events/insert-events.ts';
import type { PlatformEventType } from '../platform-events/platform-event.enums.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import type { AnswerLinks } from './answers/answer-link.ts';
import { toAsked } from './answers/give-answer.ts';
import { type BoundChannel, bindChannel } from './channel.ts';
import type { DeliveryData } from './claim.ts';
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
      const asked = toAsked(notification);
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
      asked: toAsked(notification),
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
  await transaction(database, [refused.userId], (run) => suspend(run, refused));
  outbox.note([refused.userId]);
}

function suspend(run: Run, refused: DeliveryData) {
  switch (refused.channel) {
    case 'email':
      return run(suspendEmail, refused);
    case 'chat':
      return run(suspendChat, refused);
    case 'push':
      return run(removeSubscription, refused);
  }
}

const suspendEmail = defineContactUpdate('email', 'email', 'emailSuspendedAt');
const suspendChat = defineContactUpdate('chat', 'chatMemberId', 'chatSuspendedAt');

const suspended = sql.lit('contact.suspended' satisfies PlatformEventType);

function defineContactUpdate(
  channel: DeliveryChannel,
  address: 'email' | 'chatMemberId',
  suspendedAt: 'emailSuspendedAt' | 'chatSuspendedAt',
) {
  return defineStatement((db, { param }: Params<DeliveryData>) =>
    db
      .with('refused', (db) =>
        db
          .selectFrom('Contact')
          .select(['userId', suspendedAt])
          .where('userId', '=', param('userId'))
          .where(address, '=', param(address)),
      )
      .with('event', (db) =>
        insertPlatformEvents(
          db,
          { type: suspended, userId: sql.ref('userId'), channel: sql.lit(channel), at: sql`now()` },
          sql`from refused where ${sql.ref(suspendedAt)} is null`,
        ),
      )
      .updateTable('Contact')
      .set(suspendedAt, sql<Time>`now()`)
      .where('userId', '=', sql<string>`(select ${sql.ref('userId')} from refused)`)
      .returning('userId'),
  );
}

const removeSubscription = defineStatement((db, { param }: Params<DeliveryData>) =>
  db
    .deleteFrom('PushSubscription')
    .where('userId', '=', param('userId'))
    .where('id', '=', param('target'))
    .where('ciphertext', '=', param('ciphertext'))
    .returning('userId'),
);
