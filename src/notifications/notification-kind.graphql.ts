import { builder } from '../graphql/builder.ts';

export const NotificationKindEnum = builder.enumType('NotificationKind', {
  description: 'What a notification is about; it decides the shape of the payload.',
  values: {
    PLAN_REQUESTED: { value: 'plan_requested', description: "The task asks for a plan's approval." },
    QUESTION_REQUESTED: { value: 'question_requested', description: 'The task asks questions.' },
    TASK_FAILED: { value: 'task_failed', description: 'The task failed.' },
    TASK_RESPONSE_READY: { value: 'task_response_ready', description: 'The task has an answer.' },
  } as const,
});
