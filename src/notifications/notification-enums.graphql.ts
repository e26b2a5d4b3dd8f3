import { builder, toEnumValues } from '../graphql/builder.ts';
import {
  notificationKinds,
  notificationStatuses,
  resolutions,
  resolveReasons,
  taskStatuses,
} from './notification.enums.ts';

export const NotificationKindEnum = builder.enumType('NotificationKind', {
  description: 'The kind of a notification. It determines the type of the payload.',
  values: toEnumValues(notificationKinds, {
    plan_requested: 'The task asks the user to approve a plan.',
    question_requested: 'The task asks the user questions.',
    task_failed: 'The task failed.',
    task_response_ready: 'The task produced a response.',
  }),
});

export const NotificationStatusEnum = builder.enumType('NotificationStatus', {
  description: 'The status of a notification.',
  values: toEnumValues(notificationStatuses, {
    active: "The notification needs the user's attention.",
    resolved:
      'The user answered, the request expired, the platform resolved the notification, or a later one superseded it. `resolution` gives the reason.',
    dismissed: 'The user dismissed the notification.',
  }),
});

export const NotificationChannelEnum = builder.enumType('NotificationChannel', {
  description: 'A channel that delivers notifications to a user.',
  values: {
    EMAIL: { value: 'email', description: 'Email.' },
    PUSH: { value: 'push', description: 'Push message.' },
    CHAT_DM: { value: 'chat', description: 'Chat direct message.' },
  } as const,
});

const reasons = {
  answered_elsewhere: 'The user answered outside the gateway, for example in the editor.',
  resumed: 'The task resumed without an answer.',
  task_deleted: 'The task was deleted.',
};

export const ResolveReasonEnum = builder.enumType('NotificationResolveReason', {
  description: 'The reason why the platform resolves a notification.',
  values: toEnumValues(resolveReasons, reasons),
});

export const ResolutionEnum = builder.enumType('NotificationResolution', {
  description: 'The reason why a notification was resolved.',
  values: toEnumValues(resolutions, {
    answered: 'Its request has an answer.',
    ...reasons,
    superseded: 'A later notification of the same task and kind replaced it.',
    expired: 'Its request expired without an answer.',
  }),
});

export const TaskStatusEnum = builder.enumType('TaskStatus', {
  description: 'The status of a task that failed or produced a response.',
  values: toEnumValues(taskStatuses, {
    awaiting_input: 'The task is waiting for input from the user.',
    errored: 'The task stopped with an error.',
  }),
});
