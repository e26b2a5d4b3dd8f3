import type { NotificationKind } from '../../notifications/notification.enums.ts';

/** What notifications of a kind are about, worded to follow "email about". */
export const kindNames: Readonly<Record<NotificationKind, string>> = {
  plan_requested: 'plans that need your approval',
  question_requested: 'questions for you',
  task_failed: 'failed tasks',
  task_response_ready: 'task responses',
};
