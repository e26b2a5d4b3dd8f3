import { z } from 'zod';
import { accountRead, accountWrite } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { defineRecordRef } from '../graphql/record-ref.ts';
import { UserRef } from '../users/user.graphql.ts';
import { Secret } from '../values/secret.ts';
import { AUTH_LENGTH, isPublicPoint } from './push/encryption.ts';
import {
  type ListedSubscription,
  listSubscriptions,
  MAX_SUBSCRIPTIONS,
  registerSubscription,
  removeSubscription,
} from './push-subscriptions.ts';

const PushSubscription = builder.objectRef<ListedSubscription>('PushSubscription').implement({
  description: 'A browser that receives notifications by push. Its endpoint and keys are never returned.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: "The subscription's ID: the SHA-256 hash of its endpoint, base64url.",
    }),
    ref: t.field(defineRecordRef<ListedSubscription>('PushSubscription', 'id')),
    host: t.exposeString('host', { description: 'The host of the push service.' }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'Timestamp at which the user registered the subscription.',
    }),
  }),
});

builder.queryFields((t) => ({
  pushSubscriptions: t.field({
    access: accountRead,
    type: [PushSubscription],
    nullable: true,
    description: "Returns the caller's push subscriptions, oldest first.",
    resolve: (_root, _args, { database, viewer }) => listSubscriptions(database, viewer.userId),
  }),
  pushPublicKey: t.string({
    access: accountRead,
    nullable: true,
    description:
      'Returns the `applicationServerKey` of `PushManager.subscribe()`: an uncompressed point on P-256, base64url. `null` if push is not configured.',
    resolve: (_root, _args, { push }) => push?.publicKey ?? null,
  }),
}));

builder.objectField(UserRef, 'pushSubscriptions', (t) =>
  t.field({
    access: accountRead,
    type: [PushSubscription],
    nullable: true,
    description: "The user's push subscriptions, oldest first.",
    resolve: ({ userId }, _args, { database }) => listSubscriptions(database, userId),
  }),
);

const PushSubscriptionKeysInput = builder.inputType('PushSubscriptionKeysInput', {
  description: 'The keys with which messages to a browser are encrypted.',
  fields: (t) => ({
    p256dh: t.field({
      type: 'Secret',
      required: true,
      description: "The browser's public key: an uncompressed point on P-256, base64url.",
      validate: bytesRule(isPublicPoint, 'must be an uncompressed point on P-256, base64url'),
    }),
    auth: t.field({
      type: 'Secret',
      required: true,
      description: `The authentication secret: ${AUTH_LENGTH} bytes, base64url.`,
      validate: bytesRule(({ length }) => length === AUTH_LENGTH, `must be ${AUTH_LENGTH} bytes, base64url`),
    }),
  }),
});

/** A secret that is the base64url encoding of certain bytes. */
function bytesRule(check: (bytes: Buffer) => boolean, message: string) {
  const schema = z.instanceof(Secret).refine((secret) => {
    const text = secret.reveal();
    return /^[\w-]+$/.test(text) && check(Buffer.from(text, 'base64url'));
  }, message);
  return { schema };
}

const RegisterPushSubscriptionInput = builder.inputType('RegisterPushSubscriptionInput', {
  description: 'A push subscription, as `PushSubscription.toJSON()` returns it in a browser.',
  fields: (t) => ({
    endpoint: t.field({
      type: 'Secret',
      required: true,
      description:
        'The URL to which messages are sent: `https`, port 443 and a public host, unless the operator allows another host. At most 2,048 characters.',
    }),
    expirationTime: t.float({
      description: 'Ignored: the push service reports when the subscription has expired.',
    }),
    keys: t.field({
      type: PushSubscriptionKeysInput,
      required: true,
      description: 'The keys with which messages are encrypted.',
    }),
  }),
});

const RegisterPushSubscriptionPayload = builder
  .objectRef<{ pushSubscription: ListedSubscription }>('RegisterPushSubscriptionPayload')
  .implement({
    description: 'Result of registering a push subscription.',
    fields: (t) => ({
      pushSubscription: t.expose('pushSubscription', {
        type: PushSubscription,
        description:
          'The stored subscription. If its endpoint was registered before, the keys are replaced; if by another user, it moves to the caller.',
      }),
    }),
  });

const RemovePushSubscriptionInput = builder.inputType('RemovePushSubscriptionInput', {
  description: 'The push subscription to remove.',
  fields: (t) => ({ id: t.id({ required: true, description: "The subscription's ID." }) }),
});

const RemovePushSubscriptionPayload = builder
  .objectRef<{ removed: boolean }>('RemovePushSubscriptionPayload')
  .implement({
    description: 'Result of removing a push subscription.',
    fields: (t) => ({
      removed: t.exposeBoolean('removed', {
        description: '`false` if the user has no subscription with this ID.',
      }),
    }),
  });

builder.mutationFields((t) => ({
  registerPushSubscription: t.field({
    access: accountWrite,
    type: RegisterPushSubscriptionPayload,
    nullable: true,
    description: `Registers a browser for notifications by push. Fails with \`CONFLICT\` if push is not configured, or if the user has ${MAX_SUBSCRIPTIONS} other subscriptions.`,
    args: {
      input: t.arg({
        type: RegisterPushSubscriptionInput,
        required: true,
        description: 'The subscription to store.',
      }),
    },
    resolve: async (_root, { input: { endpoint, keys } }, context) => ({
      pushSubscription: await registerSubscription(
        context,
        context.viewer.userId,
        { endpoint, ...keys },
        context.now,
      ),
    }),
  }),
  removePushSubscription: t.field({
    access: accountWrite,
    type: RemovePushSubscriptionPayload,
    nullable: true,
    description:
      'Removes a push subscription and cancels deliveries to it. Succeeds even if there is no such subscription.',
    args: {
      input: t.arg({
        type: RemovePushSubscriptionInput,
        required: true,
        description: 'The subscription to remove.',
      }),
    },
    resolve: async (_root, { input: { id } }, context) => ({
      removed: await removeSubscription(context, context.viewer.userId, id),
    }),
  }),
}));
