import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { EncryptionKeys, PushConfig } from '../config.ts';
import type { PushRegistration } from '../context.ts';
import { defineRowsOfUserRead } from '../database/batched-read.ts';
import { type CancelDependencies, transactionAndCancel } from '../database/outbox.ts';
import { defineRowRead, type ReadParams } from '../database/read.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { PushTarget } from '../encryption/subscription-cipher.ts';
import { createSubscriptionCipher } from '../encryption/subscription-cipher.ts';
import { ConflictError, REDACTED, ValidationError } from '../errors/gateway-errors.ts';
import type { Time } from '../values/time.ts';
import { formatPublicKey } from './push/encryption.ts';
import { findEndpointIssue } from './push/endpoint.ts';
import type { PushSubscription } from './push-subscription.entity.ts';

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

/** A push subscription without its endpoint and keys. */
export type ListedSubscription = Pick<PushSubscription, 'userId' | 'id' | 'host' | 'createdAt'>;

/** Lists a user's push subscriptions, oldest first. Concurrent calls become one statement. */
export const listSubscriptions = defineRowsOfUserRead((db, { param }) =>
  db
    .selectFrom('PushSubscription')
    .select(['userId', 'id', 'host', 'createdAt'])
    .where('userId', '=', sql<string>`any(${param('users')}::text[])`)
    .orderBy('createdAt')
    .orderBy('id'),
);

/**
 * Stores a browser's push subscription. A subscription with the same endpoint is replaced, even if it is another
 * user's: this user now uses the browser, so the other user's deliveries to it are cancelled.
 * @throws {ConflictError} if push is not configured, or the user has {@link MAX_SUBSCRIPTIONS} others
 * @throws {ValidationError} if messages must not be sent to the endpoint
 */
export async function registerSubscription(
  { database, outbox, push }: CancelDependencies & { readonly push: PushRegistration | null },
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
  const subscription = { userId, id, host, ciphertext, keyId: push.cipher.currentKeyId, now };
  const owner = await findOwner(database, { id });
  const users = [userId, owner?.userId ?? userId];
  const [stored] = await transactionAndCancel({ database, outbox }, users, (run) => run(store, subscription));
  if (stored !== undefined) return stored;
  throw new ConflictError(
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

const findOwner = defineRowRead((db, { param }: ReadParams<{ id: string }>) =>
  db.selectFrom('PushSubscription').select('userId').where('id', '=', param('id')),
);

type StoreInput = Pick<PushSubscription, 'userId' | 'id' | 'host' | 'ciphertext' | 'keyId'> & { now: Time };

/**
 * Returns no row if the user has the maximum number of other subscriptions. Because the user is locked, no other
 * subscription can be added meanwhile.
 */
const store = defineStatement((db, { param }: Params<StoreInput>) =>
  db
    .insertInto('PushSubscription')
    .columns(['userId', 'id', 'host', 'ciphertext', 'keyId', 'createdAt', 'updatedAt'])
    .expression(
      db
        .selectNoFrom([
          param('userId', 'text').as('userId'),
          param('id', 'text').as('id'),
          param('host', 'text').as('host'),
          param('ciphertext', 'text').as('ciphertext'),
          param('keyId', 'text').as('keyId'),
          param('now', 'timestamptz').as('createdAt'),
          param('now', 'timestamptz').as('updatedAt'),
        ])
        .where(
          (eb) =>
            eb
              .selectFrom('PushSubscription')
              .select((eb) => eb.fn.countAll<number>().as('count'))
              .where('userId', '=', param('userId'))
              .where('id', '<>', param('id')),
          '<',
          MAX_SUBSCRIPTIONS,
        ),
    )
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({
        userId: eb.ref('excluded.userId'),
        ciphertext: eb.ref('excluded.ciphertext'),
        keyId: eb.ref('excluded.keyId'),
        createdAt: eb
          .case()
          .when('PushSubscription.userId', '=', eb.ref('excluded.userId'))
          .then(eb.ref('PushSubscription.createdAt'))
          .else(eb.ref('excluded.createdAt'))
          .end(),
        updatedAt: eb.ref('excluded.updatedAt'),
      })),
    )
    .returning(['userId', 'id', 'host', 'createdAt']),
);

/** Removes a push subscription and cancels deliveries to it. Returns whether it existed. */
export async function removeSubscription(
  dependencies: CancelDependencies,
  userId: string,
  id: string,
): Promise<boolean> {
  const removed = await transactionAndCancel(dependencies, [userId], (run) => run(remove, { userId, id }));
  return removed.length > 0;
}

const remove = defineStatement((db, { param }: Params<{ userId: string; id: string }>) =>
  db
    .deleteFrom('PushSubscription')
    .where('userId', '=', param('userId'))
    .where('id', '=', param('id'))
    .returning('id'),
);
