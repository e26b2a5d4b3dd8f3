/** The channels over which the gateway delivers notifications. */
export const deliveryChannels = ['email', 'push', 'chat'] as const;
export type DeliveryChannel = (typeof deliveryChannels)[number];
