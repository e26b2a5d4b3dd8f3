import { type RawBuilder, sql } from 'kysely';
import { type DeliveryChannel, deliveryChannels } from '../../values/delivery-channel.enums.ts';
import type { NotificationPreference } from './preference.entity.ts';

/** The properties that enable the channels of notifications. */
const properties = { email: 'emailEnabled', push: 'pushEnabled', chat: 'chatDmEnabled' } as const;

/** Which channels are enabled for a kind of notification. */
export type Channels = Pick<NotificationPreference, (typeof properties)[DeliveryChannel]>;

/** The channels of a preference that is not stored. */
export const defaultChannels: Channels = { emailEnabled: true, pushEnabled: true, chatDmEnabled: true };

/** Lists the enabled channels of a preference. If it is not stored, its values are null, and the defaults apply. */
export function listEnabled(
  stored: { readonly [Property in keyof Channels]: boolean | null },
): DeliveryChannel[] {
  return deliveryChannels.filter((channel) => {
    const property = properties[channel];
    return stored[property] ?? defaultChannels[property];
  });
}

/** Whether a channel is enabled by the preference that a statement left-joins. */
export function isChannelEnabled(channel: DeliveryChannel): RawBuilder<boolean> {
  const property = properties[channel];
  const stored = sql.ref(`NotificationPreference.${property}`);
  return sql`coalesce(${stored}, ${sql.lit(defaultChannels[property])})`;
}
