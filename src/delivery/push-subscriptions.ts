import { hash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { EncryptionKeys, PushConfig } from '../config.ts';
import type { PushRegistration } from '../context.ts';
import { defineRowsOfUserRead } from '../database/batched-read.ts';
import { userTransaction } from '../database/transaction.ts';
import { createSubscriptionCipher, type PushTarget } from '../encryption/bound-cipher.ts';
import { ConflictError, REDACTED, ValidationError } from '../errors/gateway-errors.ts';
import type { OutboxDependencies } from '../live/outbox.ts';
import type { Time } from '../values/time.ts';
import { PushSubscription } from './contact.entity.ts';
import { formatPublicKey } from './push/encryption.ts';
import { findEndpointIssue } from './push/endpoint.ts';

/** Creates what registering push subscriptions requires; null if push is not configured. */
export function createPushRegistration(
  config: PushConfig | null,
  keys: EncryptionKeys,
): PushRegistration | null {
  if (config === null) return null;
  const { privateKey, allowedHosts } = config;
  return { cipher: createSubscriptionCipher(keys), publicKey: formatPublicKey(privateKey), allowedHosts };
}

/** The maximum number of push subscriptions of a user. */
export const MAX_SUBSCRIPTIONS = 20;

const listed = ['userId', 'id', 'host', 'createdAt'] as const;

/** A push subscription without its endpoint and keys. */
export type ListedSubscription = Pick<PushSubscription, (typeof listed)[number]>;

/** Lists a user's push subscriptions, oldest first. Concurrent calls become one statement. */
export const listSubscriptions = defineRowsOfUserRead<ListedSubscription>((database, { users }) =>
  database
    .fork()
    .find(
      PushSubscription,
      { userId: { $in: users } },
      { fields: listed, orderBy: { createdAt: 'asc', id: 'asc' } },
    ),
);

/**
 * Stores a browser's push subscription. A subscription with the same endpoint is replaced, even if it is another
 * user's: this user now uses the browser, so the other user's deliveries to it are cancelled.
 * @throws {ConflictError} if push is not configured, or the user has {@link MAX_SUBSCRIPTIONS} others
 * @throws {ValidationError} if messages must not be sent to the endpoint
 */
export async function registerSubscription(
  { database, outbox, push }: OutboxDependencies & { readonly push: PushRegistration | null },
  userId: string,
  target: PushTarget,
  now: Time,
): Promise<ListedSubscription> {
  if (push === null) throw new ConflictError('NOT_CONFIGURED', 'Push is not configured on this gateway.');
  const endpoint = target.endpoint.reveal();
  const message = findEndpointIssue(endpoint, push.allowedHosts);
  if (message !== undefined) {
    throw new ValidationError([{ path: ['input', 'endpoint'], message, value: REDACTED }]);
  }
  const id = hash('sha256', endpoint, 'base64url');
  const ciphertext = await push.cipher.encrypt(target, { userId, id });
  const { host } = new URL(endpoint);
  const subscription = { userId, id, host, ciphertext, keyId: push.cipher.currentKeyId };
  const owner = await database.fork().findOne(PushSubscription, { id }, { fields: ['userId'] });
  const users = [userId, owner?.userId ?? userId];
  const stored = await userTransaction(database.fork(), users, (em) => store(em, subscription, now));
  outbox.note(users);
  return stored;
}

type NewSubscription = Omit<PushSubscription, 'createdAt' | 'updatedAt'>;

/** Because the user is locked, no other subscription can be added meanwhile. */
async function store(em: EntityManager, { userId, id, ...rest }: NewSubscription, now: Time) {
  const others = await em.count(PushSubscription, { userId, id: { $ne: id } });
  if (others >= MAX_SUBSCRIPTIONS) throw limitReached();
  const own = await em.findOne(PushSubscription, { userId, id }, { fields: ['createdAt'] });
  const createdAt = own?.createdAt ?? now;
  const subscription = { userId, id, ...rest, createdAt, updatedAt: now };
  await em.upsert(PushSubscription, subscription, { onConflictFields: ['id'], disableIdentityMap: true });
  return subscription;
}

function limitReached(): ConflictError {
  return new ConflictError(
    'LIMIT_REACHED',
    `The user has ${MAX_SUBSCRIPTIONS} push subscriptions. Remove one with \`removePushSubscription\`.`,
    [
      {
        path: ['input'],
        message: `exceeds the limit of ${MAX_SUBSCRIPTIONS} subscriptions per user`,
        value: REDACTED,
      },
    ],
  );
}

/** Removes a push subscription and cancels deliveries to it. Returns whether it existed. */
export async function removeSubscription(
  { database, outbox }: OutboxDependencies,
  userId: string,
  id: string,
): Promise<boolean> {
  const removed = await userTransaction(database.fork(), [userId], (em) =>
    em.nativeDelete(PushSubscription, { userId, id }),
  );
  outbox.note([userId]);
  return removed > 0;
}
