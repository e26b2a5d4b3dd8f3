import { builder } from '../graphql/builder.ts';
import { toEnumValues } from '../graphql/enum-values.ts';
import {
  notificationKinds,
  notificationStatuses,
  resolutions,
  resolveReasons,
  taskStatuses,
} from './notification.enums.ts';

export const NotificationKindEnum = builder.enumType('NotificationKind', {
  description: 'What a notification is about; it decides the shape of the payload.',
  values: toEnumValues(notificationKinds, {
    plan_requested: "The task asks for a plan's approval.",
    question_requested: 'The task asks questions.',
    task_failed: 'The task failed.',
    task_response_ready: 'The task has an answer.',
  }),
});

export const NotificationStatusEnum = builder.enumType('NotificationStatus', {
  description: 'How a notification stands.',
  values: toEnumValues(notificationStatuses, {
    active: 'It waits for the user.',
    resolved: 'The platform no longer waits for it.',
    dismissed: 'The user has put it away.',
  }),
});

const reasons = {
  answered: 'Somebody answered it.',
  resumed: 'The task went on without an answer.',
  task_deleted: 'The task is gone.',
};

export const ResolveReasonEnum = builder.enumType('ResolveReason', {
  description: 'Why the platform no longer waits for an answer.',
  values: toEnumValues(resolveReasons, reasons),
});

export const ResolutionEnum = builder.enumType('Resolution', {
  description: 'Why a notification was resolved.',
  values: toEnumValues(resolutions, {
    ...reasons,
    superseded: 'A later one of the same task and kind took its place.',
  }),
});

export const TaskStatusEnum = builder.enumType('TaskStatus', {
  description: 'How a task stands after a result.',
  values: toEnumValues(taskStatuses, {
    awaiting_input: 'It waits for the user.',
    errored: 'It stopped with an error.',
  }),
});
