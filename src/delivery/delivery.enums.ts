/** The states of a delivery. `sending` means that a sender has claimed it. */
export const deliveryStates = ['pending', 'sending', 'delivered', 'failed', 'cancelled'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/**
 * The states that are shown. `maybe_delivered`: the delivery was cancelled or expired after an attempt that may have
 * delivered the message. It is stored as `cancelled` or `failed`. `skipped`: no
 * delivery was queued for the channel. It is stored with the notification.
 */
export const shownDeliveryStates = [...deliveryStates, 'maybe_delivered', 'skipped'] as const;
export type ShownDeliveryState = (typeof shownDeliveryStates)[number];

/**
 * What a sender does next, or did last: send the message, or update a delivered one. Step `message` of a delivered message
 * means that it is as it was sent.
 */
export const deliverySteps = ['message', 'update'] as const;
export type DeliveryStep = (typeof deliverySteps)[number];

/** Why a delivery is cancelled. `settled`: the notification was resolved, dismissed or deleted. */
export const cancelReasons = ['settled', 'channel_disabled', 'target_removed'] as const;
export type CancelReason = (typeof cancelReasons)[number];

/** Why a delivery failed or was postponed. */
export const deliveryFailureReasons = [
  'recipient_rejected',
  'message_rejected',
  'rate_limited',
  'provider_unavailable',
  'provider_refused',
  'reply_lost',
  'lease_expired',
  'target_unreadable',
  'expired',
] as const;
export type DeliveryFailureReason = (typeof deliveryFailureReasons)[number];

export const deliveryReasons = [...cancelReasons, ...deliveryFailureReasons] as const;
export type DeliveryReason = (typeof deliveryReasons)[number];

/** The reasons that are shown. Deliveries are skipped because of the added ones, or of `channel_disabled`. */
export const shownDeliveryReasons = [
  ...deliveryReasons,
  'no_target',
  'no_provider',
  'task_notifications_per_hour',
  'task_requests_per_hour',
] as const;
export type ShownDeliveryReason = (typeof shownDeliveryReasons)[number];
