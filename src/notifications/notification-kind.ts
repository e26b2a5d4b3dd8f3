/** Kinds in the specification's order. The kind decides a notification's payload and its channels. */
export const notificationKinds = [
  'plan_requested',
  'question_requested',
  'task_failed',
  'task_response_ready',
] as const;
export type NotificationKind = (typeof notificationKinds)[number];
