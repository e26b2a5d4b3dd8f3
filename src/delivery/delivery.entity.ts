import { defineEntity, p } from '@mikro-orm/core';
import { enumColumn, idColumn, textColumn, timeColumn } from '../database/columns.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import { deliveryReasons, deliveryStates, deliverySteps } from './delivery.enums.ts';

export const DeliverySchema = defineEntity({
  name: 'Delivery',
  tableName: 'delivery',
  properties: {
    userId: idColumn().primary(),
    notificationId: idColumn().primary(),
    channel: enumColumn(deliveryChannels).primary(),
    /** The ID of the push subscription. Empty for email and chat, where a user has one target. */
    target: idColumn().primary(),
    /** The unit that is paused on failures: the host of a push service, or the channel's name. */
    provider: textColumn(),
    state: enumColumn(deliveryStates),
    step: enumColumn(deliverySteps).default('message'),
    /** Whether a later change can still cancel this delivery, queue it again, or queue an update of its message. */
    isOpen: p.boolean().default(true),
    /** When the next attempt is due. In state `sending`, when the sender's lease expires. */
    dueAt: timeColumn(),
    /** When the first attempt of the step was due. */
    firstDueAt: timeColumn().defaultRaw('now()'),
    /** No message is attempted after this time. A manual retry extends it. */
    expiresAt: timeColumn(),
    /** The fencing token, incremented by each claim: only the sender of the latest claim may store a result. */
    claims: p.integer().default(0),
    attempts: p.integer().default(0),
    /** Whether an attempt may have delivered the message although no sender knows. */
    mayBeDelivered: p.boolean().default(false),
    /** The reason for the cancellation or for the last failure. */
    reason: enumColumn(deliveryReasons).strictNullable(),
    /** The provider's code for `reason`, such as `550 5.1.1`, `410` or `channel_not_found`. */
    providerCode: textColumn().strictNullable(),
    /** The provider's ID of the message, if the message can be changed later. */
    receipt: textColumn().strictNullable(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
    deliveredAt: timeColumn().strictNullable(),
  },
  indexes: [
    {
      name: 'delivery_due_by_time',
      properties: ['channel', 'dueAt'],
      where: "state in ('pending', 'sending')",
    },
    {
      name: 'delivery_open_by_key',
      properties: ['userId', 'notificationId', 'channel', 'target'],
      where: 'is_open',
    },
    { name: 'delivery_failed', properties: ['channel', 'updatedAt'], where: "state = 'failed'" },
  ],
});

export class Delivery extends DeliverySchema.class {}
DeliverySchema.setClass(Delivery);
