import type { DeliveryChannel } from '../../values/delivery-channel.enums.ts';
import type { NotificationPreference } from './preference.entity.ts';

/** The properties that enable the channels of notifications. */
const properties = { email: 'emailEnabled', push: 'pushEnabled', chat: 'chatDmEnabled' } as const;

/** Which channels are enabled for a kind of notification. */
export type Channels = Pick<NotificationPreference, (typeof properties)[DeliveryChannel]>;

/** The channels of a preference that is not stored. */
export const defaultChannels: Channels = { emailEnabled: true, pushEnabled: true, chatDmEnabled: true };

/** Returns the channels of a preference that a statement left-joins; `undefined` if it is not stored. */
export function toChannels({
  emailEnabled,
  pushEnabled,
  chatDmEnabled,
}: { [Name in keyof Channels]: boolean | null }): Channels | undefined {
  if (emailEnabled === null || pushEnabled === null || chatDmEnabled === null) return undefined;
  return { emailEnabled, pushEnabled, chatDmEnabled };
}

/** Whether a channel is enabled. */
export function isChannelEnabled(channel: DeliveryChannel, channels: Channels): boolean {
  return channels[properties[channel]];
}
