import { defineEntity, p } from '@mikro-orm/core';
import { enumColumn, idColumn, timeColumn } from '../database/columns.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import { platformEventTypes } from './platform-event.enums.ts';

/** A change that is reported to the platform. It contains IDs only, and no text of the user. */
export const PlatformEventSchema = defineEntity({
  name: 'PlatformEvent',
  tableName: 'platform_event',
  properties: {
    /** Drawn at insertion, so that the events of a user, whose changes lock the user, are in order. */
    id: p.bigint('number').primary().generated('by default as identity'),
    /** The place in the feed, given after the commit. Null until then. */
    position: p.bigint('number').strictNullable(),
    userId: idColumn(),
    type: enumColumn(platformEventTypes),
    notificationId: idColumn().strictNullable(),
    taskId: idColumn().strictNullable(),
    credentialVersion: idColumn().strictNullable(),
    channel: enumColumn(deliveryChannels).strictNullable(),
    at: timeColumn(),
  },
  uniques: [{ name: 'platform_event_position', properties: ['position'], where: 'position is not null' }],
  indexes: [
    { name: 'platform_event_unpositioned', properties: ['id'], where: 'position is null' },
    { name: 'platform_event_of_user', properties: ['userId'] },
  ],
});

export class PlatformEvent extends PlatformEventSchema.class {}
PlatformEventSchema.setClass(PlatformEvent);

export const PlatformFeedSchema = defineEntity({
  name: 'PlatformFeed',
  tableName: 'platform_feed',
  properties: {
    /** Always true, so that the table has one row. */
    isOnly: p.boolean().primary().default(true),
    /** The last position given to an event. */
    lastPosition: p.bigint('number').default(0),
    /** All events up to this position were deleted because of their age. */
    deletedTo: p.bigint('number').default(0),
  },
  checks: [{ name: 'platform_feed_one_row', expression: '"is_only"' }],
});

class PlatformFeed extends PlatformFeedSchema.class {}
PlatformFeedSchema.setClass(PlatformFeed);
