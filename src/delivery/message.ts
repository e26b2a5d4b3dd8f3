import type { NotificationKind } from '../notifications/notification.enums.ts';
import type { Time } from '../values/time.ts';

/** The text of a notification, as all channels send it. Plain text without formatting; each channel escapes it. */
export type Message = {
  readonly userId: string;
  readonly notificationId: string;
  readonly kind: NotificationKind;
  /** One line. */
  readonly title: string;
  /** What happened or what the user must do, in one sentence: "A plan needs your approval." */
  readonly request: string;
  /**
   * The summary of the plan, the questions, the preview or the message; null if it is empty. May have several lines.
   */
  readonly details: string | null;
  readonly taskName: string | null;
  readonly projectName: string | null;
  readonly occurredAt: Time;
  /** No provider should deliver the message after this time. */
  readonly expiresAt: Time;
  /** Where the user reads the notification; null if APP_URL is not set. */
  readonly url: string | null;
};
