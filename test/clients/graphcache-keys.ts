import type { KeyingConfig } from '@urql/exchange-graphcache';

type Record = { userId?: unknown; id?: unknown };

/** IDs are unique within a user. */
const byUserAndId = ({ userId, id }: Record) => JSON.stringify([userId, id]);

/** Embedded objects are stored as part of their record. */
const embedded = () => null;

/** How graphcache identifies the gateway's records. Operations select `userId` beside `id`. */
export const keys: KeyingConfig = {
  PlanRequestedNotification: byUserAndId,
  QuestionRequestedNotification: byUserAndId,
  TaskFailedNotification: byUserAndId,
  TaskResponseReadyNotification: byUserAndId,
  Workspace: byUserAndId,
  NotificationPreference: ({ userId, notificationKind }) => JSON.stringify([userId, notificationKind]),
  EditorAuth: ({ userId }) => String(userId),
  // A task is stored as of the publication of its notification.
  NotificationTask: embedded,
  PlanRequestedPayload: embedded,
  QuestionRequestedPayload: embedded,
  TaskResultPayload: embedded,
  AskUserQuestion: embedded,
  AskUserQuestionOption: embedded,
  EditorAuthMethod: embedded,
  Hardware: embedded,
  NotificationCounts: embedded,
  NotificationKindCount: embedded,
};
