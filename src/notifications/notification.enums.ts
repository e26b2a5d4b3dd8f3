/**
 * Kinds in the specification's order. The kind determines a notification's payload; preferences choose channels by
 * kind.
 */
export const notificationKinds = [
  'plan_requested',
  'question_requested',
  'task_failed',
  'task_response_ready',
] as const;
export type NotificationKind = (typeof notificationKinds)[number];

/**
 * A notification that is resolved or dismissed is *settled*. Only `restoreNotification` can make a dismissed one active
 * again.
 */
export const notificationStatuses = ['active', 'resolved', 'dismissed'] as const;
export type NotificationStatus = (typeof notificationStatuses)[number];

/** Why the platform resolves a notification. */
export const resolveReasons = ['answered_elsewhere', 'resumed', 'task_deleted'] as const;
export type ResolveReason = (typeof resolveReasons)[number];

/** Why a notification was resolved. */
export const resolutions = ['answered', 'expired', 'superseded', ...resolveReasons] as const;
export type Resolution = (typeof resolutions)[number];

/**
 * Why the gateway does not deliver a notification over a channel. Their order is stored: see channel-decision.ts.
 */
export const channelSkipReasons = ['no_target', 'channel_disabled', 'no_provider'] as const;

/** Why the gateway delivers a notification of a task over no channel. Their order is stored, too. */
export const taskSkipReasons = ['task_notifications_per_hour', 'task_requests_per_hour'] as const;

export type SkipReason = (typeof channelSkipReasons)[number] | (typeof taskSkipReasons)[number];

/** The status of a task that failed or responded. */
export const taskStatuses = ['awaiting_input', 'errored'] as const;
export type TaskStatus = (typeof taskStatuses)[number];
