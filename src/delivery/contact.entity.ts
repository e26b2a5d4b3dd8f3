import { defineEntity } from '@mikro-orm/core';
import { idColumn, textColumn, timeColumn } from '../database/columns.ts';

export const ContactSchema = defineEntity({
  name: 'Contact',
  tableName: 'contact',
  properties: {
    userId: idColumn().primary(),
    email: textColumn().strictNullable(),
    /** Set when the address was refused. Nothing is sent until the platform sets the address again. */
    emailSuspendedAt: timeColumn().strictNullable(),
    chatMemberId: textColumn().strictNullable(),
    chatSuspendedAt: timeColumn().strictNullable(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
  },
});

export class Contact extends ContactSchema.class {}
ContactSchema.setClass(Contact);

export const PushSubscriptionSchema = defineEntity({
  name: 'PushSubscription',
  tableName: 'push_subscription',
  properties: {
    userId: idColumn().primary(),
    /** The SHA-256 hash of the endpoint, base64url. */
    id: idColumn().primary(),
    /** The host of the push service. */
    host: textColumn(),
    /** The endpoint and the keys, encrypted. */
    ciphertext: textColumn(),
    /** The ID of the key that encrypted `ciphertext`. */
    keyId: textColumn(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
  },
  indexes: [{ name: 'push_subscription_key', properties: ['keyId'] }],
  // A browser that is shared by several users receives the messages of the last user who registered it.
  uniques: [{ name: 'push_subscription_endpoint', properties: ['id'] }],
});

export class PushSubscription extends PushSubscriptionSchema.class {}
PushSubscriptionSchema.setClass(PushSubscription);
